/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linger.h - connections that are over for us. See linger.c. */
#pragma once

#include <stdint.h>

#include "connections.h"

#define MW_LINGERS_MAX 16 /* at most a quarter of all connections */

/* Keeps a connection that libmicrohttpd closes open for a while, if the client still sends. */
void mw_linger(const struct mw_conn *, uint64_t now);
/* If the event is about a linger: something came, and is discarded. */
void mw_linger_event(const void *about, uint64_t now);
/* Ends those past their deadline. Returns milliseconds to the next; -1: none. */
int mw_linger_due(uint64_t now);
/* Ends all. */
void mw_linger_close(void);
/* At the start: there are none. */
void mw_linger_reset(void);
/* In a forked child: passes each inherited descriptor. */
void mw_linger_inherited(void (*close_it)(int fd));
