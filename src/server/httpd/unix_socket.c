/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unix_socket.c - opens Unix sockets at locked paths.
 *
 * Called by the server's thread. Every descriptor is close-on-exec and non-blocking.
 */
#include "unix_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/namespace.h"
#include "shared/sys/sys.h"
#include "ancestors.h"
#include "descriptors.h"
#include "listeners.h"
#include "rundir.h"
#include "server_state.h"
#include "socket_lock.h"
#include "socket_mode.h"

/* ms; how long a relative may hold the lock of a path that has our PID. */
#define SWEPT_MS 100

/* Notes the address before bind: a forked child recognises the socket by it. */
static void note_unix(struct mw_listener *l)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	memcpy(un.sun_path, l->socket_lock.path, sizeof(un.sun_path));
	memset(&l->addr, 0, sizeof(l->addr));
	memcpy(&l->addr, &un, sizeof(un));
	l->addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(un.sun_path) + 1);
}

static int new_socket(int family, char err[MW_ERROR_MAX])
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0) {
		snprintf(err, MW_ERROR_MAX, "a socket: can't be created: %s", mw_sys_error(errno));
		return -1;
	}
	return mw_fd_high(fd);
}

bool mw_have_ruby(void)
{
	static bool have; /* a process that has it keeps it, and so do its children */
	struct mw_stats s;

	if (!have) { /* takeover.c asks each second, and stats cost a millisecond in a large table */
		mw_server.api->stats(&s);
		have = s.ruby_lookup && strcmp(s.ruby_lookup, "none") != 0;
	}
	return have;
}

/*
 * True if the socket is in the directory of rundir.c. Only the family uses those; socket_mode
 * doesn't apply.
 */
static bool in_rundir(const struct mw_listener *l)
{
	const char *path = mw_rundir_kept();
	size_t n = strlen(path);

	return n && !strncmp(l->socket_lock.path, path, n) &&
	       (!l->socket_lock.path[n] || l->socket_lock.path[n] == '.');
}

int mw_unix_open_locked(struct mw_listener *l, char err[MW_ERROR_MAX])
{
	int fd = new_socket(AF_UNIX, err);

	l->tcp = false;
	note_unix(l);
	l->fd = fd;
	if (fd >= 0 && !mw_socket_lock_bind(&l->socket_lock, fd, mw_have_ruby(), err)) {
		if (!in_rundir(l))
			mw_socket_open_up(&l->socket_lock, mw_server.api->options());
		if (!listen(fd, MW_BACKLOG))
			return 0;
		snprintf(err, MW_ERROR_MAX, "%s: can't listen: %s", l->socket_lock.path,
			 mw_sys_error(errno));
	}
	l->fd = -1;
	if (fd >= 0)
		close(fd);
	mw_socket_lock_drop(&l->socket_lock);
	return -1;
}

/*
 * Locks a path with this process's PID in it. A relative may be removing what an earlier process of
 * that PID left, and holds the lock for a moment.
 */
static enum mw_socket_locked lock_own(struct mw_listener *l, const char *path, char err[MW_ERROR_MAX])
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	enum mw_socket_locked got = mw_socket_lock_take(&l->socket_lock, path, err);

	for (int tries = 0; got == MW_SOCKET_LOCK_TAKEN && tries < SWEPT_MS; tries++) {
		nanosleep(&ms, NULL);
		got = mw_socket_lock_take(&l->socket_lock, path, err);
	}
	return got;
}

enum mw_socket_locked mw_unix_lock_numbered(struct mw_listener *l, const char *before,
					    const char *behind, char err[MW_ERROR_MAX])
{
	const unsigned long long ns = mw_pid_namespace();
	enum mw_socket_locked got = MW_SOCKET_LOCK_TAKEN;
	char own[sizeof(l->socket_lock.path) + 48];

	for (int with = 0; with <= (ns != 0) && got == MW_SOCKET_LOCK_TAKEN; with++) {
		int n = with ? snprintf(own, sizeof(own), "%s%ld-%llu%s", before, (long)getpid(), ns,
					behind) :
			       snprintf(own, sizeof(own), "%s%ld%s", before, (long)getpid(), behind);

		if (n < 0 || (size_t)n >= sizeof(l->socket_lock.path)) {
			snprintf(err, MW_ERROR_MAX, "%.120s: longer than the %zu bytes of a socket's path",
				 own, sizeof(l->socket_lock.path) - 1);
			return MW_SOCKET_LOCK_ERROR;
		}
		got = lock_own(l, own, err);
	}
	if (got == MW_SOCKET_LOCK_TAKEN)
		snprintf(err, MW_ERROR_MAX, "%.120s: taken: choose another path", own);
	return got;
}

static enum mw_socket_locked lock_beside(struct mw_listener *l, const char *path, char err[MW_ERROR_MAX])
{
	char before[sizeof(l->socket_lock.path) + 1];

	snprintf(before, sizeof(before), "%s.", path);
	return mw_unix_lock_numbered(l, before, "", err);
}

int mw_unix_open(struct mw_listener *l, const char *abs, bool shared, char err[MW_ERROR_MAX])
{
	enum mw_socket_locked got = MW_SOCKET_LOCK_TAKEN;

	if (mw_listeners_have(abs)) {
		snprintf(err, MW_ERROR_MAX, "%s: given twice", abs);
		return -1;
	}
	if (!shared || !mw_forker_lives())
		got = mw_socket_lock_take(&l->socket_lock, abs, err);
	if (got == MW_SOCKET_LOCK_TAKEN)
		got = lock_beside(l, abs, err);
	return got == MW_SOCKET_LOCK_OURS ? mw_unix_open_locked(l, err) : -1;
}

/* Opens and watches a listener whose path is locked; on failure releases the lock. */
static struct mw_listener *open_and_watch(struct mw_listener *l, enum mw_socket_locked got)
{
	char err[MW_ERROR_MAX];

	if (got != MW_SOCKET_LOCK_OURS || mw_unix_open_locked(l, err)) {
		l->addr_len = 0;
		return NULL;
	}
	if (mw_listener_watch(l)) {
		close(l->fd);
		l->fd = -1;
		l->addr_len = 0;
		mw_socket_lock_drop(&l->socket_lock);
		return NULL;
	}
	mw_listeners_add();
	return l;
}

/* While the server serves: on a path, or beside it, as a relative does. */
static struct mw_listener *open_later(const char *path, bool beside)
{
	struct mw_listener *l = mw_listeners_slot();
	char err[MW_ERROR_MAX];

	if (!l)
		return NULL;
	mw_moves_begin();
	if (mw_opening_begin())
		l = open_and_watch(l, beside ? lock_beside(l, path, err) :
					       mw_socket_lock_take(&l->socket_lock, path, err));
	else
		l = NULL;
	mw_opening_end();
	mw_moves_end();
	return l;
}

struct mw_listener *mw_unix_take(const char *path)
{
	return open_later(path, false);
}

struct mw_listener *mw_unix_beside(const char *path)
{
	return open_later(path, true);
}
