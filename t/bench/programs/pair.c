/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pair.c THREADS [PAIRS] - the cost of a malloc and a free, together.
 *
 * Each thread keeps KEPT blocks of 16 to 527 bytes and replaces one after
 * the other: a free and a malloc of another size. Blocks are not written to, so
 * that only the allocator's own work counts. A round is one such pair, the threads
 * share them equally: see turns.h.
 */
#include <stdint.h>

#include "turns.h"

enum { KEPT = 512, THREADS_MAX = 256 };

static long threads, pairs; /* pairs of each thread in this slice */

static void *work(void *arg)
{
	void *kept[KEPT] = { NULL };
	uint32_t seed = (uint32_t)(uintptr_t)arg * 2654435761u + 1;

	for (;;) {
		pthread_barrier_wait(&slice_start);
		for (long i = 0; i < pairs; i++) {
			void **at = &kept[i % KEPT];

			free(*at);
			seed = seed * 1664525u + 1013904223u;
			*at = malloc(16 + (seed >> 23));
			if (!*at)
				die("no memory");
		}
		pthread_barrier_wait(&slice_end);
	}
	return NULL;
}

static void slice(long rounds)
{
	pairs = rounds / threads;
	workers_do();
}

int main(int argc, char **argv)
{
	threads = argc == 2 || argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	workers_ready(threads);
	for (long i = 0; i < threads; i++)
		worker(work, (void *)(uintptr_t)i);
	return take_turns(slice, argv[2], threads);
}
