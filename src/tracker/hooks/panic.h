/* SPDX-License-Identifier: GPL-2.0-or-later */
/* panic.h - libmicrohttpd's panic handler: the server's side of panic.c. */
#pragma once

#include <stdbool.h>

#include "api/api.h"

/* See mw_api.panic_take and panic_pass. */
void mw_panic_take(void (*set)(mw_panic_fn, void *), mw_panic_fn ours);
bool mw_panic_pass(const char *file, unsigned line, const char *why);
