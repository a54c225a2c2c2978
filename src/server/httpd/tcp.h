/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tcp.h - the port that `listen` names. See tcp.c. */
#pragma once

#include <stdint.h>

#include "listeners.h"
#include "shared/options/options.h"

/*
 * Opens the port as the server starts. known: the number that this process had before exec, if the
 * options leave it open; 0: none. Returns 0, or -1 with a line in err. Logs a new number.
 */
int mw_tcp_open(struct mw_listener *, const struct mw_options *, uint16_t known, char err[MW_ERROR_MAX]);

/*
 * Opens, while the loop runs, the port that another process of the family had. l: its slot from an
 * earlier time, or NULL. known: the number, if the options leave it open; 0: none was known.
 * Returns NULL, and logs nothing, if it can't be opened now; errno says why, 0: there is no token.
 */
struct mw_listener *mw_tcp_take(struct mw_listener *l, uint16_t known);
