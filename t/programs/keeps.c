/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keeps.c - for t/sampled.t. SEED THREADS: so many threads allocate blocks of random sizes, 120 MB each, and keep them: a
 * third in small ones, a third in those of some KB, a third in large ones. Writes "done", and ends with its input.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, PART = 40000000 };

static uint64_t next(uint64_t *dice)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return *dice >> 11;
}

static void *keep(void *arg)
{
	static const struct {
		size_t least, range;
	} kinds[] = { { 16, 300 }, { 1000, 7000 }, { 20000, 100000 } };
	uint64_t dice = (uint64_t)(uintptr_t)arg;
	size_t left[] = { PART, PART, PART }, n = 0;
	void **last = NULL; /* each leads to the one before */

	for (size_t k; left[0] || left[1] || left[2]; left[k] -= n < left[k] ? n : left[k]) {
		do
			k = next(&dice) % 3;
		while (!left[k] ||
		       (k && next(&dice) % (k == 2 ? 400 : 25))); /* so the kinds end at about the same time */
		n = kinds[k].least + next(&dice) % kinds[k].range;
		void **p = malloc(n);

		if (!p)
			abort();
		*p = (void *)last;
		last = p;
	}
	return (void *)last;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	long threads = argc > 2 ? atol(argv[2]) : 1;
	pthread_t t[THREADS];

	for (long i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, keep,
				   (void *)(uintptr_t)((seed + 1) * 88172645463325252u + (uint64_t)i * 7)))
			abort();
	for (long i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("done\n");
	(void)fflush(stdout);
	return getchar() == EOF ? 0 : 1;
}
