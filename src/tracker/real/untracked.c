/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "untracked.h"
#include "shared/sys/libc.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* gcc's or clang's runtime (libclang_rt.NAME-ARCH.so). UBSan's isn't: it leaves malloc alone. */
static bool is_sanitizer(const char *file)
{
	static const char *const names[] = { "asan", "lsan", "tsan", "hwasan", "msan" };
	const char *name = begins(file, "libclang_rt.") ? file + strlen("libclang_rt.") :
			   begins(file, "lib")          ? file + strlen("lib") :
							  "";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (begins(name, names[i]) && (name[n] == '.' || name[n] == '-' || name[n] == '_'))
			return true;
	}
	return false;
}

/* A library of memcheck, helgrind, drd, dhat or massif; other tools have the core's only. */
static bool is_valgrind(const char *file)
{
	return begins(file, "vgpreload_") && !begins(file, "vgpreload_core");
}

const char *mw_untracked_reason(void)
{
	static const char sanitizer[] = "this program is built with a sanitizer: it runs untracked";

	/* the linker's list itself: sanitizers interpose dl_iterate_phdr, and aren't set up yet */
	for (const struct link_map *m = mw_linker()->r_map; m; m = m->l_next) {
		const char *slash = strrchr(m->l_name, '/'), *file = slash ? slash + 1 : m->l_name;

		if (is_valgrind(file))
			return "this program runs under valgrind: it runs untracked";
		if (is_sanitizer(file))
			return sanitizer;
	}
	/* a sanitizer linked into the program itself; UBSan's runtime lacks this function */
	return dlsym(RTLD_DEFAULT, "__sanitizer_get_heap_size") ? sanitizer : NULL;
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
