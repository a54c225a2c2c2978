/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unwound.h - the libraries of t/unwound, and libgcc's walk to compare with. */
#pragma once

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "../unwound/shapes.h"

enum { MOST = 4000 };

/* The path of a library; "*": a pattern for all. */
static inline const char *unwound_path(const char *name)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	char *build;

	path[n < 0 ? 0 : n] = 0;
	build = strstr(path, "/.build/");
	assert_non_null(build);
	sprintf(build, "/.build/t/unwound/%s.so", name);
	return path;
}

/* Loads all that match, and says which; returns how many. */
static inline size_t unwound_open(const char *pattern, void **handles, size_t most)
{
	glob_t g;
	size_t n;

	assert_int_equal(glob(unwound_path(pattern), 0, NULL, &g), 0);
	assert_in_range(g.gl_pathc, 1, most);
	for (n = 0; n < g.gl_pathc; n++) {
		handles[n] = dlopen(g.gl_pathv[n], RTLD_NOW | RTLD_LOCAL);
		if (!handles[n])
			fail_msg("%s", dlerror());
		printf("# with %s\n", strrchr(g.gl_pathv[n], '/') + 1);
	}
	globfree(&g);
	return n;
}

struct truth {
	uintptr_t pcs[MOST];
	size_t n;
};

static inline _Unwind_Reason_Code truth_frame(struct _Unwind_Context *c, void *arg)
{
	struct truth *t = arg;

	if (t->n == MOST)
		return _URC_END_OF_STACK;
	t->pcs[t->n++] = _Unwind_GetIP(c);
	return _URC_NO_REASON;
}

/* libgcc's frames, without the 0 that it adds beyond the outermost function. */
#define TRUTH(t)                                     \
	do {                                         \
		(t)->n = 0;                          \
		_Unwind_Backtrace(truth_frame, (t)); \
		if ((t)->n && !(t)->pcs[(t)->n - 1]) \
			(t)->n--;                    \
	} while (0)
