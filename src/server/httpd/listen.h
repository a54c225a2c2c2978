/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen.h - opens the listeners that the options name. See listen.c. The server's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "server/family/family.h"
#include "listeners.h"
#include "shared/options/options.h"

/* Opens what the options name. Returns the number of listeners, or 0 with a line in err. */
unsigned mw_listen_all(const struct mw_options *, char err[MW_ERROR_MAX]);
/*
 * Listens, while the loop runs, on a family's path that is free, or on a path with this PID added.
 * Returns NULL if that fails, or if another process was first.
 */
struct mw_listener *mw_listen_take(const char *path);
struct mw_listener *mw_listen_beside(const char *path);
/* True if this process has Ruby, or is about to. */
bool mw_have_ruby(void);
