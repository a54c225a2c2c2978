/* SPDX-License-Identifier: GPL-2.0-or-later */
/* absolute.c - makes the paths of options absolute. */
#include "absolute.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Relative paths start where the first server of this process and its forked children was started:
 * an app that daemonizes changes to "/".
 */
static char start_dir[PATH_MAX];

int mw_absolute(const char *path, char *out, size_t size, char err[MW_ERROR_MAX])
{
	int n;

	if (path[0] == '/') {
		n = snprintf(out, size, "%s", path);
	} else {
		if (!start_dir[0] && !getcwd(start_dir, sizeof(start_dir))) {
			snprintf(err, MW_ERROR_MAX, "%.100s: the working directory is gone", path);
			return -1;
		}
		n = snprintf(out, size, "%s/%s", start_dir, path);
	}
	if (n < 0 || (size_t)n >= size) {
		snprintf(err, MW_ERROR_MAX,
			 "%.120s: too long: with its directory it exceeds the %zu bytes of a socket's path",
			 path, size - 1);
		return -1;
	}
	return 0;
}
