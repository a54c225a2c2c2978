/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool runnable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !eaccess(path, X_OK);
}

/* In the first n bytes of PATH, a folder. False: not there, or Ruby would write the path in another way. */
static bool in_folder(const char *folder, size_t n, const char *name, char path[PATH_MAX])
{
	return n && folder[n - 1] != '/' && n < PATH_MAX &&
	       snprintf(path, PATH_MAX, "%.*s/%s", (int)n, folder, name) < PATH_MAX && runnable(path);
}

bool plain_command(const char *name, char path[PATH_MAX])
{
	const char *s = getenv("PATH");
	size_t n;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && runnable(path);
	for (; s; s = s[n] ? s + n + 1 : NULL) {
		n = strcspn(s, ":");
		if (in_folder(s, n, name, path))
			return true;
		/* it may be there for Ruby */
		if (!n || s[n - 1] == '/')
			return false;
	}
	return false;
}
