/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "untracked.h"
#include "shared/sys/libc.h"
#include "shared/sys/sanitizer.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

/*
 * Of a sanitizer that is linked into the program itself; UBSan's runtime lacks it. By a weak reference: for a symbol that
 * isn't there dlsym allocates, and frees that by a free of the app's, which the tracker doesn't know yet.
 */
extern __attribute__((weak, visibility("default"))) size_t __sanitizer_get_heap_size(void);

/* A library of memcheck, helgrind, drd, dhat or massif; other tools have the core's only. */
static bool is_valgrind(const char *file)
{
	static const char preload[] = "vgpreload_", core[] = "vgpreload_core";

	return !strncmp(file, preload, sizeof(preload) - 1) && strncmp(file, core, sizeof(core) - 1) != 0;
}

const char *mw_untracked_reason(void)
{
	static const char sanitizer[] = "this program is built with a sanitizer: it runs untracked";

	/* the linker's list itself: sanitizers interpose dl_iterate_phdr, and aren't set up yet */
	for (const struct link_map *m = mw_linker()->r_map; m; m = m->l_next) {
		const char *slash = strrchr(m->l_name, '/'), *file = slash ? slash + 1 : m->l_name;

		if (is_valgrind(file))
			return "this program runs under valgrind: it runs untracked";
		if (mw_sanitizer_library(file))
			return sanitizer;
	}
	return __sanitizer_get_heap_size ? sanitizer : NULL;
}

/*
 * AddressSanitizer ends a process in which its library isn't the first one. It asks the program
 * for default options by this name. A program with options of its own defines it itself.
 */
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
