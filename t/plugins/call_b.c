/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call_b.c - for t/stacks.t: two functions of its own between the caller and malloc; also at its end. */
#include <stdlib.h>

void b_takes(size_t n), b_calls(void), calls(void);

#define APART __attribute__((noinline, noclone))

static void *volatile kept;

APART void b_takes(size_t n)
{
	kept = malloc(n);
	free(kept);
	__asm__ volatile("" ::: "memory");
}

APART void b_calls(void)
{
	for (int i = 0; i < 20; i++)
		b_takes(16384);
	__asm__ volatile("" ::: "memory");
}

void calls(void)
{
	b_calls();
	__asm__ volatile("" ::: "memory");
}

__attribute__((destructor)) static void ends(void)
{
	b_calls();
	__asm__ volatile("" ::: "memory");
}
