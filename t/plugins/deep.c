/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deep.c - loaded with RTLD_DEEPBIND: its malloc and free are the C library's own,
 * past whatever is preloaded.
 */
#include <stdlib.h>
#include <string.h>

void *deep_malloc(size_t n)
{
	return malloc(n);
}

char *deep_strdup(const char *s)
{
	return strdup(s);
}

void *deep_realloc(void *p, size_t n)
{
	return realloc(p, n);
}

void deep_free(void *p)
{
	free(p);
}
