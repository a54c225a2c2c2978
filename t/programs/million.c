/* SPDX-License-Identifier: GPL-2.0-or-later */
/* million.c - a million live blocks, freed first in first out, last out, and at random. */
#include "../lib/site.h"

#define N 1000000
static void *block[N];

MALLOC_SITE(fifo);
MALLOC_SITE(lifo);
MALLOC_SITE(mixed);

static void fill(void *(*make)(size_t))
{
	size_t i;

	for (i = 0; i < N; i++)
		block[i] = make(8 + i % 32);
}

int main(void)
{
	const uint64_t total = 8 * (uint64_t)N + (uint64_t)31 * 32 / 2 * (N / 32);
	size_t i, left;

	fill(fifo);
	for (i = 0; i < N; i++)
		free(block[i]);
	expect("fifo", N, N, total, 0);
	fill(lifo);
	for (i = N; i-- > 0;)
		free(block[i]);
	expect("lifo", N, N, total, 0);
	fill(mixed);
	for (i = 0; i < N; i++) /* 7919 is no factor of N: each once */
		if (i % 4)
			free(block[i * 7919 % N]);
	left = 0;
	for (i = 0; i < N; i += 4)
		left += 8 + (i * 7919 % N) % 32;
	expect("mixed", N, N / 4 * 3, total, left);
	return 0;
}
