/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accept.h - new clients. See accept.c. The server's thread only. */
#pragma once

#include <stdint.h>

struct mw_listener;

/* Accepts waiting connections at a listener, up to a bound. */
void mw_accept_clients(struct mw_listener *, uint64_t now);
