/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rounds.h - the work of the server's thread, while it serves. See rounds.c. That thread only. */
#pragma once

#include <stdbool.h>

#include "shared/options/options.h"
#include "httpd.h"

/* Opens the loop's descriptors and watches all listeners. Returns 0; -1: a line in err. */
int mw_rounds_open(char err[MW_ERROR_MAX]);
/* MW_HTTPD_ENDED: asked to stop; MW_HTTPD_FAILED: our descriptors are no longer ours. */
enum mw_httpd_is mw_rounds_run(void);
/* True if the descriptors of the loop and of the daemon are still ours. */
bool mw_rounds_intact(void);
