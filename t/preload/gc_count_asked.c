/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gc_count_asked.c - preloaded: an rb_gc_count whose code says nothing of where the count is. It asks
 * Ruby's own, and says $GC_COUNT_TIMES times that. A ruby with libruby linked in doesn't see it.
 */
#include <dlfcn.h>
#include <stdlib.h>

size_t rb_gc_count(void);

static size_t (*own)(void);
static size_t times = 1;

__attribute__((constructor)) static void begin(void)
{
	const char *n = getenv("GC_COUNT_TIMES");

	own = (size_t (*)(void))dlsym(RTLD_NEXT, "rb_gc_count");
	times = n ? (size_t)atoi(n) : 1;
}

size_t rb_gc_count(void)
{
	return own ? own() * times : 0;
}
