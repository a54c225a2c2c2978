/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listen.h - opens the listeners that the options name. See listen.c. The server's thread only.
 */
#pragma once

#include "shared/options/options.h"

/* Opens what the options name. Returns the number of listeners, or 0 with a line in err. */
unsigned mw_listen_all(const struct mw_options *, char err[MW_ERROR_MAX]);
