/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shared/sys/sys.h"

#define ROOT "/sys/fs/cgroup"

/* A small file's text; false: it can't be read, or is empty. */
static bool read_file(const char *path, char *to, size_t size)
{
	int fd = mw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? -1 : mw_sys_read(fd, to, size - 1);

	if (fd >= 0)
		mw_sys_close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* "max" and what isn't a number are no limit. */
static bool read_number(const char *folder, const char *name, uint64_t *to)
{
	char path[PATH_MAX + 16], text[32];
	const char *p = text;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!read_file(path, text, sizeof(text)) || *p < '0' || *p > '9')
		return false;
	for (*to = 0; *p >= '0' && *p <= '9'; p++)
		*to = *to * 10 + (uint64_t)(*p - '0');
	return true;
}

/* The line "0::/path" of /proc/self/cgroup, behind ROOT. */
static bool find_folder(char *to, size_t size)
{
	char text[PATH_MAX];
	const char *line;

	if (!read_file("/proc/self/cgroup", text, sizeof(text)) || !(line = strstr(text, "0::/")) ||
	    (line != text && line[-1] != '\n'))
		return false;
	snprintf(to, size, ROOT "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
	return true;
}

bool mw_limit_of(struct mw_limit *least)
{
	char folder[PATH_MAX + sizeof(ROOT)];
	bool found = false;

	if (!find_folder(folder, sizeof(folder)))
		return false;
	while (strlen(folder) >= sizeof(ROOT) - 1) {
		struct mw_limit l;

		if (read_number(folder, "memory.max", &l.max) &&
		    read_number(folder, "memory.current", &l.used)) {
			l.used = l.used < l.max ? l.used : l.max;
			if (!found || l.max - l.used < least->max - least->used)
				*least = l;
			found = true;
		}
		*strrchr(folder, '/') = '\0';
	}
	return found;
}
