/* SPDX-License-Identifier: GPL-2.0-or-later */
/* late.c - a library that allocates in its constructor and frees in its destructor. */
#include "../lib/site.h"

static void *block[10];

MALLOC_SITE(late_make);

__attribute__((constructor)) static void start(void)
{
	size_t i;

	for (i = 0; i < 10; i++)
		block[i] = late_make(10 * (i + 1));
}

__attribute__((destructor)) static void end(void)
{
	size_t i;

	for (i = 0; i < 10; i++)
		free(block[i]);
}
