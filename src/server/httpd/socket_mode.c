/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket_mode.c - the options socket_mode and socket_group: which other users may connect to a Unix
 * socket.
 *
 * The file is made with mode 0600 (socket_lock.c) and opened up before its owner listens, so before
 * anybody can connect. The group changes first, then the mode: what is meant for one group is never
 * open to another. A failure leaves it closed.
 *
 * Group names are looked up in /etc/group by hand: getgrnam() would load libraries and take locks
 * that a forked child could find held for ever. The launcher has replaced other names by numbers.
 * Called by the server's thread; allocates nothing.
 */
#include "socket_mode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "ancestors.h"
#include "socket_lock.h"

/* --- /etc/group ------------------------------------------------------------------- */

/* Parses NAME:PASSWORD:NUMBER:MEMBERS byte by byte: lines may have any length. */
struct search {
	const char *name;
	size_t field;  /* in the line, from 0 */
	size_t at;     /* in the first field */
	bool same;     /* the name matches so far */
	int digits;    /* of the number */
	int64_t gid;
};

static void new_line(struct search *s)
{
	s->field = s->at = 0;
	s->same = true;
	s->digits = 0;
	s->gid = 0;
}

/* True: the group is found, in s->gid. */
static bool take_byte(struct search *s, char c)
{
	if (c == ':' || c == '\n') {
		if (s->field == 0)
			s->same &= !s->name[s->at];
		if (s->field == 2 && s->same && s->digits > 0)
			return true;
		s->field++;
		if (c == '\n')
			new_line(s);
	} else if (s->field == 0) {
		s->same = s->same && c && s->name[s->at] == c;
		s->at += s->same;
	} else if (s->field == 2) {
		s->same = s->same && c >= '0' && c <= '9' && s->digits < 10;
		s->gid = s->gid * 10 + (c - '0');
		s->digits++;
		if (!s->same)
			s->gid = 0;
	}
	return false;
}

static int64_t search_group_file(int fd, struct search *s)
{
	char text[1024];
	ssize_t n;

	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (take_byte(s, text[i]))
				return s->gid;
	return !n && take_byte(s, '\n') ? s->gid : -1;
}

int64_t mw_group_find(const char *file, const char *name)
{
	struct search s = { .name = name };
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int64_t gid;

	if (fd < 0)
		return -1;
	new_line(&s);
	gid = search_group_file(fd, &s);
	close(fd);
	return gid < (int64_t)UINT32_MAX ? gid : -1;
}

/* --- files --------------------------------------------------------------------------- */

/* The group that the options ask for: its number; -1: none asked for; -2: no such group. */
static int64_t wanted_group(const struct mw_options *o)
{
	int64_t gid;

	if (!o->socket_group)
		return -1;
	gid = o->socket_gid >= 0 ? o->socket_gid : mw_group_find("/etc/group", o->socket_group);
	return gid < 0 ? -2 : gid;
}

static const char not_the_group[] = "can't give it to the group";

/* fd: of the file, from O_PATH. Returns NULL, or what failed, with errno. */
static const char *open_up(int fd, int64_t gid, mode_t mode)
{
	char proc[64];

	if (gid >= 0 && fchownat(fd, "", (uid_t)-1, (gid_t)gid, AT_EMPTY_PATH))
		return not_the_group;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd); /* fchmod takes none from O_PATH */
	return chmod(proc, mode) ? "can't set its mode" : NULL;
}

static void complain(const char *path, const struct mw_options *o, const char *what, int e)
{
	bool group = what == not_the_group;

	if (mw_ancestor_served())
		return;
	mw_log("%s: stays closed to others: %s%s%s (%s)", path, what, group ? " " : "",
	       group ? o->socket_group : "", mw_sys_error(e));
}

static void open_up_path(const char *path, const struct mw_options *o, mode_t mode, dev_t dev, ino_t ino)
{
	int64_t gid = wanted_group(o);
	const char *failed = NULL;
	struct stat st;
	int fd, e;

	if (gid == -2) {
		if (!mw_ancestor_served())
			mw_log("%s: stays closed to others: no group %s", path, o->socket_group);
		return;
	}
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		failed = "can't look at it";
	} else if (st.st_dev != dev || st.st_ino != ino) {
		failed = "another file has taken its place";
		errno = EEXIST;
	} else {
		failed = open_up(fd, gid, mode);
	}
	e = errno;
	if (fd >= 0)
		close(fd);
	if (failed)
		complain(path, o, failed, e);
}

void mw_socket_open_up(const struct mw_socket_lock *c, const struct mw_options *o)
{
	if (o->socket_mode != 0600)
		open_up_path(c->path, o, o->socket_mode, c->dev, c->ino);
}

/* A user who may connect must reach the socket, and read the directory to choose one. */
void mw_socket_dir_open_up(const char *dir, const struct mw_options *o)
{
	mode_t mode = 0700 | (o->socket_mode & 060 ? 050 : 0) | (o->socket_mode & 06 ? 05 : 0);
	struct stat st;

	if (mode != 0700 && !lstat(dir, &st) && S_ISDIR(st.st_mode))
		open_up_path(dir, o, mode, st.st_dev, st.st_ino);
}
