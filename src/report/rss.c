/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rss.c - the process's resident memory, from /proc. Any thread; no lock, no allocation. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

bool mw_rss_bytes(int statm, uint64_t *out)
{
	char text[128];
	int fd = statm >= 0 ? statm : open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n;
	const char *s;
	uint64_t pages = 0;

	if (fd < 0)
		return false;
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (fd != statm)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	s = strchr(text, ' ');
	if (!s || s[1] < '0' || s[1] > '9')
		return false;
	for (s++; *s >= '0' && *s <= '9'; s++)
		pages = pages * 10 + (uint64_t)(*s - '0');
	*out = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}
