/* SPDX-License-Identifier: GPL-2.0-or-later */
/* absolute.h - absolute paths. The server's thread only. */
#pragma once

#include <stddef.h>

#include "shared/options/options.h"

/*
 * Makes `path` absolute, from the first server's working directory. Returns 0; -1: a line in err.
 */
int mw_absolute(const char *path, char *out, size_t size, char err[MW_ERROR_MAX]);
