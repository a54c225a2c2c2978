/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rss.c - the process's resident memory, from /proc. Any thread; no lock, no allocation. */
#include <fcntl.h>
#include <unistd.h>

#include "report.h"

/* The number at *s, which then points behind it and a space. False: there is none. */
static bool read_number(const char **s, uint64_t *v)
{
	const char *from = *s;

	for (*v = 0; **s >= '0' && **s <= '9'; ++*s)
		*v = *v * 10 + (uint64_t)(**s - '0');
	if (*s == from || **s != ' ')
		return false;
	++*s;
	return true;
}

bool mw_rss_read(int statm, struct mw_rss *out)
{
	char text[128];
	int fd = statm >= 0 ? statm : open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	uint64_t size, page = (uint64_t)sysconf(_SC_PAGESIZE);
	const char *s = text;
	ssize_t n;

	if (fd < 0)
		return false;
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (fd != statm)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	/* pages: size, resident, of which shared: RssFile and RssShmem of /proc/self/status */
	if (!read_number(&s, &size) || !read_number(&s, &out->bytes) || !read_number(&s, &out->files))
		return false;
	out->bytes *= page;
	out->files *= page;
	return true;
}

bool mw_rss_bytes(int statm, uint64_t *out)
{
	struct mw_rss rss;

	if (!mw_rss_read(statm, &rss))
		return false;
	*out = rss.bytes;
	return true;
}
