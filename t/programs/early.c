/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * early.c - allocations before main, freed after it: the counts are exact. All preloaded libraries
 * are ready by then; t/preload/constructor.c allocates before an allocator's constructor has run.
 */
#include "../lib/site.h"

static void *block[10];

MALLOC_SITE(in_constructor);
REALLOC_SITE(moved);

__attribute__((constructor(101))) static void first(void)
{
	size_t i;

	for (i = 0; i < 10; i++)
		block[i] = in_constructor(100);
}

__attribute__((destructor(101))) static void last(void)
{
	free(block[0]);
}

int main(void)
{
	block[1] = moved(block[1], 5000);
	free(block[2]);
	expect("in_constructor", 10, 3, 1000, 700);
	expect("moved", 1, 0, 5000, 5000);
	return 0;
}
