/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.h - libmicrohttpd's daemon, which serves the connections. The first client has it loaded
 * and started. The server's thread only, except what is for a forked child.
 */
#pragma once

#include <stdbool.h>

#include "shared/options/options.h"

struct mw_listener;

/*
 * Before a client is accepted: loads libmicrohttpd and starts the daemon, unless that was done.
 * Returns 0; -1: a line in err, and the next client may try again.
 */
int mw_daemon_begin(char err[MW_ERROR_MAX]);
/* False: no client has come yet. */
bool mw_daemon_runs(void);
/* Does what is due. Within mw_moves_begin(). */
void mw_daemon_run(void);
/* Returns ms to its next work; -1: none, or it doesn't run. */
int mw_daemon_due(void);
/*
 * Takes over a connection accepted at a listener, and closes it on failure. False: it failed. Within
 * mw_moves_begin().
 */
bool mw_daemon_add(const struct mw_listener *, int fd);
/* Stops it. Within mw_moves_begin(). */
void mw_daemon_stop(void);
/* Forgets it; the memory of one that wasn't stopped is lost. Also in a forked child. */
void mw_daemon_forget(void);

/* True if its epoll's number is still that epoll. Also in a forked child. */
bool mw_daemon_ours(void);
/* In a forked child: closes the inherited epoll. */
void mw_daemon_inherited(void);
