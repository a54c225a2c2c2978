/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen.c - opens the listeners that the options name: Unix sockets at a locked path; TCP on
 * loopback, or elsewhere with a token. Called by the server's thread. Every descriptor is
 * close-on-exec and non-blocking.
 */
#include "listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "shared/sys/log.h"
#include "shared/sys/namespace.h"
#include "shared/sys/sys.h"
#include "server/family/family.h"
#include "absolute.h"
#include "ancestors.h"
#include "descriptors.h"
#include "listeners.h"
#include "own_family.h"
#include "rundir.h"
#include "server_state.h"
#include "socket_lock.h"
#include "socket_mode.h"
#include "takeover.h"
#include "tcp.h"
#include "token.h"

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

static int open_locked(struct mw_listener *l, char err[MW_ERROR_MAX])
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

/*
 * Locks BEFORE, this process's number, and BEHIND. A process of another PID namespace may have the same number: then
 * the namespace goes into the name, too.
 */
static enum mw_socket_locked lock_numbered(struct mw_listener *l, const char *before, const char *behind,
					   char err[MW_ERROR_MAX])
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
	return lock_numbered(l, before, "", err);
}

/*
 * Listens on `abs`, an absolute path, or on `abs`.PID if another process has it. shared: the process that forked
 * this one, if it lives, may just be about to take it.
 */
static int open_unix(struct mw_listener *l, const char *abs, bool shared, char err[MW_ERROR_MAX])
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
	return got == MW_SOCKET_LOCK_OURS ? open_locked(l, err) : -1;
}

static int expand(const char *value, char *out, size_t size, char err[MW_ERROR_MAX])
{
	if (mw_options_expand(value, (long)getpid(), out, size) >= 0)
		return 0;
	snprintf(err, MW_ERROR_MAX, "%.120s: longer than the %zu bytes of a socket's path", value,
		 size - 1);
	return -1;
}

static int open_path(struct mw_listener *l, const struct mw_options *o, char err[MW_ERROR_MAX])
{
	char path[sizeof(l->socket_lock.path)], abs[sizeof(path)], other[sizeof(path)];

	bool shared;

	if (expand(o->socket, path, sizeof(path), err) || mw_absolute(path, abs, sizeof(abs), err))
		return -1;
	/* a path with the PID in it isn't */
	shared = mw_options_expand(o->socket, (long)getpid() + 1, other, sizeof(other)) >= 0 &&
		 !strcmp(path, other);
	if (open_unix(l, abs, shared, err))
		return -1;
	if (shared) {
		mw_own_family_path(abs);
		mw_takeover_begin(abs, l);
	}
	return 0;
}

/*
 * Opens the path that the family of `listen` shares. If `socket` or socket_dir has relatives
 * already, the path only says which process has the port.
 */
static int open_rundir(struct mw_listener *l, const struct mw_options *o, char err[MW_ERROR_MAX])
{
	char path[sizeof(l->socket_lock.path)];
	int ret;

	snprintf(err, MW_ERROR_MAX, "the family's sockets: no directory can hold them: set TMPDIR");
	for (unsigned i = 0; (ret = mw_rundir_path(i, o, path, err)) <= 0; i++) {
		/* the last process to end may just have removed the directory: make it again */
		for (int tries = 0; !ret && tries < 3; tries++) {
			mw_rundir_keep(path);
			if (!open_unix(l, path, true, err)) {
				if (!mw_own_family()->dir[0])
					mw_own_family_path(path);
				mw_takeover_begin(path, l);
				return 0;
			}
			ret = mw_rundir_path(i, o, path, err);
		}
	}
	mw_rundir_keep("");
	return -1;
}

/* The process with the family's path opens the port; without a shared path, any process may. */
static int open_tcp(struct mw_listener *l, const struct mw_options *o, char err[MW_ERROR_MAX])
{
	uint16_t known = 0;
	int ret;

	if (!mw_takeover_has_port(&known))
		return mw_takeover_path()[0] ? 1 : -1; /* a relative has it */
	ret = mw_tcp_open(l, o, known, err);
	/* a process that ends may be about to close it: takeover.c goes on trying */
	if (ret && mw_takeover_path()[0] && mw_ancestor_served())
		return 1;
	mw_takeover_port(ret ? NULL : l);
	return ret;
}

static int open_dir(struct mw_listener *l, const struct mw_options *o, char err[MW_ERROR_MAX])
{
	char dir[sizeof(l->socket_lock.path)], path[sizeof(dir) + 32];
	enum mw_socket_locked got;
	struct stat st;

	if (expand(o->socket_dir, path, sizeof(dir), err) || mw_absolute(path, dir, sizeof(dir), err))
		return -1;
	if (!mkdir(dir, 0700)) {
		if (chmod(dir, 0700)) { /* a umask may have taken too much */
			snprintf(err, MW_ERROR_MAX, "%s: can't set its mode: %s", dir, mw_sys_error(errno));
			return -1;
		}
		mw_socket_dir_open_up(dir, o);
	} else if (errno != EEXIST) {
		snprintf(err, MW_ERROR_MAX, "%s: can't create the directory: %s", dir, mw_sys_error(errno));
		return -1;
	} else if (stat(dir, &st) || !S_ISDIR(st.st_mode)) {
		snprintf(err, MW_ERROR_MAX, "%s: not a directory: remove it or choose another path", dir);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/", dir);
	got = lock_numbered(l, path, ".sock", err);
	if (got != MW_SOCKET_LOCK_OURS)
		return -1;
	mw_own_family_dir(dir);
	return open_locked(l, err);
}

/* Logs a failure, unless an ancestor has: then the whole family has it, and it is known. */
static void tell_failure(const char *err)
{
	if (!mw_ancestor_served())
		mw_log("%s", err);
}

unsigned mw_listen_all(const struct mw_options *o, char err[MW_ERROR_MAX])
{
	static int (*const openers[])(struct mw_listener *, const struct mw_options *,
				      char *) = { open_path, open_dir, open_rundir, open_tcp };
	const char *const given[] = { o->socket, o->socket_dir, o->listen, o->listen };
	bool pending = false; /* err holds a failure that wasn't logged */
	unsigned asked = 0;   /* listeners that the options name */

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		bool rundir = openers[i] == open_rundir;
		struct mw_listener *l;
		int ret;

		/*
		 * a family's path does as well; without a valid token no request is let in anyway
		 */
		if (!given[i] || (rundir && (mw_takeover_path()[0] || mw_token_wrong())))
			continue;
		if (pending)
			tell_failure(err);
		l = mw_listeners_slot(); /* never NULL: there is one for each opener */
		ret = openers[i](l, o, err);
		pending = ret < 0;
		if (ret)
			l->addr_len = 0; /* a socket with this address isn't ours */
		else
			mw_listeners_add();
		asked += ret >= 0 && !rundir; /* also if a relative has the port */
	}
	if (pending && asked)
		tell_failure(err);
	if (!pending && !asked)
		snprintf(err, MW_ERROR_MAX, "MWRAP: no address: add socket, socket_dir or listen");
	if (!asked && mw_ancestor_served())
		err[0] = '\0';
	return asked;
}

/* Opens and watches a listener whose path is locked; on failure releases the lock. */
static struct mw_listener *open_and_watch(struct mw_listener *l, enum mw_socket_locked got)
{
	char err[MW_ERROR_MAX];

	if (got != MW_SOCKET_LOCK_OURS || open_locked(l, err)) {
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

struct mw_listener *mw_listen_take(const char *path)
{
	struct mw_listener *l = mw_listeners_slot();
	char err[MW_ERROR_MAX];

	if (!l)
		return NULL;
	mw_moves_begin();
	l = mw_opening_begin() ? open_and_watch(l, mw_socket_lock_take(&l->socket_lock, path, err)) : NULL;
	mw_opening_end();
	mw_moves_end();
	return l;
}

struct mw_listener *mw_listen_beside(const char *path)
{
	struct mw_listener *l = mw_listeners_slot();
	char err[MW_ERROR_MAX];

	if (!l)
		return NULL;
	mw_moves_begin();
	l = mw_opening_begin() ? open_and_watch(l, lock_beside(l, path, err)) : NULL;
	mw_opening_end();
	mw_moves_end();
	return l;
}
