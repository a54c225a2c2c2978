/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pair.c THREADS PAIRS - what a malloc and a free cost, together.
 *
 * Each thread keeps KEPT blocks of 16 to 527 bytes and replaces one after
 * the other: a free and a malloc of another size. Blocks are not written to, so
 * that only the allocator's own work counts. Writes "ns N" to the file that
 * BENCH_OUT names: nanoseconds of CPU time for each pair, over all threads.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEPT = 512, THREADS_MAX = 256 };

static long pairs;

static void *work(void *arg)
{
	void *kept[KEPT] = { NULL };
	uint32_t seed = (uint32_t)(uintptr_t)arg * 2654435761u + 1;

	for (long i = 0; i < pairs; i++) {
		void **at = &kept[i % KEPT];

		free(*at);
		seed = seed * 1664525u + 1013904223u;
		*at = malloc(16 + (seed >> 23));
		if (!*at)
			exit(1);
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

static int run(long threads)
{
	pthread_t all[THREADS_MAX];

	for (long i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, work, (void *)(uintptr_t)i))
			return 1;
	for (long i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return 0;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *path = getenv("BENCH_OUT");
	FILE *out = path ? fopen(path, "w") : stdout;
	long threads, n;
	double before;

	if (argc != 3 || !out)
		return 2;
	threads = strtol(argv[1], NULL, 10);
	n = strtol(argv[2], NULL, 10);
	if (threads < 1 || threads > THREADS_MAX || n < threads * KEPT)
		return 2;
	pairs = n / threads / 10;
	if (run(threads)) /* warm up */
		return 1;
	pairs = n / threads;
	before = cpu_ns();
	if (run(threads))
		return 1;
	fprintf(out, "ns %.3f\n", (cpu_ns() - before) / (double)(pairs * threads));
	return fclose(out) ? 1 : 0;
}
