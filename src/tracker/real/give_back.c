/* SPDX-License-Identifier: GPL-2.0-or-later */
/* give_back.c - each allocator's own way to give free memory back; see classes.h. */
#include <string.h>

#include "real.h"

/* jemalloc's name for all arenas at once */
#define PURGE "arena.4096.purge"

bool mw_real_trim(void)
{
	const char *name = mw_real_allocator();

	if (!strcmp(name, "jemalloc")) {
		int (*mallctl)(const char *, void *, size_t *, void *, size_t) =
			(int (*)(const char *, void *, size_t *, void *, size_t))mw_real_own("mallctl");

		return mallctl && !mallctl(PURGE, NULL, NULL, NULL, 0);
	}
	if (!strcmp(name, "mimalloc")) {
		void (*collect)(bool) = (void (*)(bool))mw_real_own("mi_collect");

		if (collect)
			collect(true);
		return collect;
	}
	if (!strcmp(name, "tcmalloc")) {
		void (*release)(void) = (void (*)(void))mw_real_own("MallocExtension_ReleaseFreeMemory");

		if (release)
			release();
		return release;
	}
	if (!*name)
		return false;
	{
		int (*trim)(size_t) = (int (*)(size_t))mw_real_own("malloc_trim");

		return trim && trim(0) == 1;
	}
}
