/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/sys/request.h"
#include "shared/sys/sys.h"
#include "process.h"
#include "tracker/caller/ruby/frame.h"

static bool allowed; /* written before main */

/* The decimal number at s, or 0 without one; *end: behind it. */
static uint64_t parse_number(const char *s, const char **end)
{
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (uint64_t)(*s - '0');
	*end = s;
	return v;
}

static bool said_to_be(const char *who)
{
	const char *s;
	uint64_t pid = parse_number(who, &s), start = *s == '.' ? parse_number(s + 1, &s) : 0, is;

	if (pid != (uint64_t)mw_sys_getpid())
		return false;
	is = start ? mw_start_ticks() : 0;
	return !is || is == start;
}

/* True if the file names the tracker. Pieces overlap, since a cut may fall within the name. */
static bool names_tracker(int fd)
{
	static const char name[] = "libmwrap.so";
	enum { OVERLAP = sizeof(name) - 2 };
	char text[4096];
	size_t kept = 0;
	ssize_t n;

	while ((n = mw_sys_read(fd, text + kept, sizeof(text) - kept)) > 0) {
		size_t all = kept + (size_t)n;

		if (memmem(text, all, name, sizeof(name) - 1))
			return true;
		kept = all < OVERLAP ? all : OVERLAP;
		memmove(text, text + all - kept, kept);
	}
	return false;
}

static bool parent_is_tracked(void)
{
	char path[40];
	bool is;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/maps", mw_sys(SYS_getppid, 0, 0, 0, 0, 0));
	fd = mw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	is = names_tracker(fd);
	mw_sys_close(fd);
	return is;
}

bool mw_named(void)
{
	const char *who = getenv("MWRAP_PID");
	int e = errno;
	bool is = who && *who ? said_to_be(who) : !parent_is_tracked();

	errno = e;
	return is;
}

void mw_threads_decide(void)
{
	const struct mw_options *o = &mw_options;

	if (!mw_options_need_server(o) && !o->dump_every && !o->trace_path)
		return; /* no option asks for a thread */
	allowed = mw_get(&mw_ruby.how) != MW_RUBY_NONE || o->children_all || mw_named();
}

bool mw_may_have_threads(void)
{
	return allowed;
}
