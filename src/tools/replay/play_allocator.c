/* SPDX-License-Identifier: GPL-2.0-or-later */
/* play_allocator.c - the allocator that serves this process: see play_calls.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/sys/libc.h"
#include "play_calls.h"

/* The object's function of that name, if malloc is the object's, too. */
static bool find_function(const char *name, const Dl_info *of, void *to)
{
	void *f = dlsym(RTLD_DEFAULT, name);
	Dl_info i;

	if (!f || !dladdr(f, &i) || i.dli_fbase != of->dli_fbase)
		return false;
	memcpy(to, &f, sizeof(f));
	return true;
}

static const void *code(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

void mw_play_allocator(char *to, size_t room, bool *glibc)
{
	int (*mallctl)(const char *, void *, size_t *, void *, size_t);
	const char *(*tc_version)(int *, int *, const char **);
	int (*mi_version)(void);
	const char *text = "", *slash;
	size_t n = sizeof(text);
	int major = 0, minor = 0;
	Dl_info i, c;

	if (glibc)
		*glibc = false;
	if (!dladdr(code("malloc"), &i) || !i.dli_fname) {
		snprintf(to, room, "unknown");
	} else if (dladdr(code("gnu_get_libc_version"), &c) && c.dli_fbase == i.dli_fbase) {
		snprintf(to, room, "glibc %s", mw_glibc_version());
		if (glibc)
			*glibc = true;
	} else if (find_function("mallctl", &i, &mallctl) && mallctl("version", &text, &n, NULL, 0) == 0) {
		snprintf(to, room, "jemalloc %.*s", (int)strcspn(text, "-"), text);
	} else if (find_function("mi_version", &i, &mi_version)) {
		int v = mi_version();

		snprintf(to, room, "mimalloc %d.%d.%d", v / 100, v / 10 % 10, v % 10);
	} else if (find_function("tc_version", &i, &tc_version)) {
		tc_version(&major, &minor, &text);
		snprintf(to, room, "gperftools %d.%d", major, minor);
	} else {
		slash = strrchr(i.dli_fname, '/');
		snprintf(to, room, "%s", slash ? slash + 1 : i.dli_fname);
	}
}
