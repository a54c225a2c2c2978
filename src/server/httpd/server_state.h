/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_state.h - the state of the server as a whole, and the rules for all of it.
 *
 * There is one server. Its state is in static memory, and each file owns a part: others reach that
 * by the functions of its header. Only the server's thread writes. Exceptions:
 *  - any thread writes `stop_asked`;
 *  - endpoint.c and exit_verdict.c have copies for other threads;
 *  - own_site.c lends the site to MwrapRack;
 *  - in a forked child there is no server's thread.
 *
 * A forked child starts with a copy of this state, taken at any instruction of the server's thread.
 * The kernel copied the descriptors a little earlier. The child can close what it inherited because
 * of these rules:
 *  - the owner notes a descriptor right after the call that made it, and forgets it right before
 *    the call that closes it;
 *  - `moves` is odd around both, and another number afterwards. If it changed between fork's
 *    beginning and the copy, or is odd, the child distrusts the notes and searches all its
 *    descriptors;
 *  - the child closes a socket only if its local address is one of ours: the application may have
 *    reused the number.
 * The owner of descriptors has a function for the child that closes them; its name ends in
 * _inherited. after_fork.c calls these first, then the functions that forget the state.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "httpd.h"

enum mw_server_state {
	MW_SERVER_NONE,    /* never started, or a forked child */
	MW_SERVER_RUNNING, /* start() is being executed, or will soon be again */
	MW_SERVER_ENDED,   /* start() has returned */
	MW_SERVER_PARKED   /* libmicrohttpd panicked; the thread sleeps for ever */
};

struct mw_server {
	_Atomic int state;      /* enum mw_server_state; also a futex */
	atomic_bool stop_asked;
	bool left; /* start() returned MW_HTTPD_LEFT: the state is MW_SERVER_RUNNING. The server's thread's */
	atomic_bool opening; /* files are being made or removed; the process's end waits for it */
	_Atomic uint32_t moves; /* odd while descriptors are made or closed */
	atomic_bool forked; /* this process was forked from one with a server */
	pid_t pid;
	_Atomic pid_t tid; /* of the server's thread; 0: none. Panics ask for it */
	const struct mw_api *api;
};
extern struct mw_server mw_server;

/*
 * Brackets the making of socket files, after the state is "running". Returns false if the process
 * ends: make no more files. Either this sees stop_asked, or wait_stopped() sees `opening`.
 */
static inline bool mw_opening_begin(void)
{
	atomic_store(&mw_server.opening, true);
	return !atomic_load(&mw_server.stop_asked);
}

static inline void mw_opening_end(void)
{
	atomic_store(&mw_server.opening, false);
}

/* Bracket code that makes or closes descriptors; a second begin changes nothing. */
static inline void mw_moves_begin(void)
{
	atomic_store(&mw_server.moves, atomic_load(&mw_server.moves) | 1);
}

static inline void mw_moves_end(void)
{
	atomic_store(&mw_server.moves, (atomic_load(&mw_server.moves) | 1) + 1);
}
