/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen.c - opens the listeners that the options name: Unix sockets at a locked path; TCP on
 * loopback, or elsewhere with a token. Called by the server's thread.
 */
#include "listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/sys/log.h"
#include "shared/sys/sys.h"
#include "absolute.h"
#include "ancestors.h"
#include "listeners.h"
#include "own_family.h"
#include "rundir.h"
#include "socket_lock.h"
#include "socket_mode.h"
#include "takeover.h"
#include "tcp.h"
#include "token.h"
#include "unix_socket.h"

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
	if (mw_unix_open(l, abs, shared, err))
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
			if (!mw_unix_open(l, path, true, err)) {
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
	got = mw_unix_lock_numbered(l, path, ".sock", err);
	if (got != MW_SOCKET_LOCK_OURS)
		return -1;
	mw_own_family_dir(dir);
	return mw_unix_open_locked(l, err);
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
