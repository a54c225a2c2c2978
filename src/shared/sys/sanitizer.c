/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sanitizer.h"

#include <stddef.h>
#include <string.h>

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* The rest of `s` behind a sanitizer's name at its beginning; NULL: it begins with none. */
static const char *behind_name(const char *s)
{
	static const char *const names[] = { "asan", "lsan", "tsan", "hwasan", "msan" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins(s, names[i]))
			return s + strlen(names[i]);
	return NULL;
}

bool mw_sanitizer_library(const char *file)
{
	const char *rest = begins(file, "libclang_rt.") ? behind_name(file + strlen("libclang_rt.")) :
			   begins(file, "lib")          ? behind_name(file + strlen("lib")) :
							  NULL;

	return rest && (*rest == '.' || *rest == '-' || *rest == '_');
}

bool mw_sanitizer_symbol(const char *name)
{
	const char *rest = begins(name, "__") ? behind_name(name + 2) : NULL;

	return rest && !strcmp(rest, "_init");
}
