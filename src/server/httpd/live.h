/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live.h - the clients of /live. See live.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "connections.h"

struct MHD_Connection;
struct MHD_Response;
struct mw_buf;

/*
 * Makes the stream for a request of /live. The watcher takes over *first and begins with it.
 * Returns NULL if there are too many watchers, or no memory.
 */
struct MHD_Response *mw_live_open(struct MHD_Connection *, struct mw_conn *, struct mw_buf *first,
				  bool *gzip);
/* Ticks if one is due, before MHD_run(). */
void mw_live_run(uint64_t now);
/* Returns milliseconds to the next work of mw_live_run; -1: none. */
int mw_live_due(uint64_t now);
/* The client of a watcher's connection may have closed it. */
void mw_live_hangup(struct mw_conn *);
/* True if this watcher has read everything it was sent. */
bool mw_live_waits(const struct mw_conn *);
/* Ends all, before MHD_stop_daemon(). */
void mw_live_close(void);
/* Forgets all; their memory is lost. For a forked child, or a daemon that isn't stopped. */
void mw_live_reset(void);
