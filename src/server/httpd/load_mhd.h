/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load_mhd.h - loads libmicrohttpd, once. See load_mhd.c. The server's thread only. */
#pragma once

#include "shared/options/options.h"

/* Sets mw_mhd, unless it is set. Returns 0; -1: a line in err, and a later call may try again. */
int mw_mhd_load(char err[MW_ERROR_MAX]);

/* A panic in the server's thread calls it. It never returns. httpd.c sets it. */
extern void (*mw_mhd_park)(const char *file, unsigned line, const char *why);
