/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * couples.c COUPLES [BLOCKS] - the cost of a malloc in one thread and a free in
 * another, together.
 *
 * In each couple of threads one allocates blocks of 16 to 527 bytes and passes them on
 * in batches through a ring, the other frees them. A thread that finds the ring full,
 * or empty, sleeps. Blocks are not written to. A round is one block, the couples share
 * them equally: see turns.h.
 */
#include <semaphore.h>
#include <stdint.h>

#include "turns.h"

enum { BATCH = 250, SLOTS = 8, COUPLES_MAX = 64 };

struct couple {
	void *ring[SLOTS][BATCH];
	sem_t room, filled;
	uint32_t seed;
};

static struct couple all[COUPLES_MAX];
static long couples, batches; /* batches of each couple in this slice */

static void pass(sem_t *s)
{
	if (sem_post(s))
		die("sem_post");
}

static void await(sem_t *s)
{
	while (sem_wait(s))
		;
}

static void fill(struct couple *c, void **slot)
{
	for (int i = 0; i < BATCH; i++) {
		c->seed = c->seed * 1664525u + 1013904223u;
		slot[i] = malloc(16 + (c->seed >> 23));
		if (!slot[i])
			die("no memory");
	}
}

static void *allocates(void *arg)
{
	struct couple *c = arg;

	for (;;) {
		pthread_barrier_wait(&slice_start);
		for (long i = 0; i < batches; i++) {
			await(&c->room);
			fill(c, c->ring[i % SLOTS]);
			pass(&c->filled);
		}
		pthread_barrier_wait(&slice_end);
	}
	return NULL;
}

static void *frees(void *arg)
{
	struct couple *c = arg;

	for (;;) {
		pthread_barrier_wait(&slice_start);
		for (long i = 0; i < batches; i++) {
			await(&c->filled);
			for (int k = 0; k < BATCH; k++)
				free(c->ring[i % SLOTS][k]);
			pass(&c->room);
		}
		pthread_barrier_wait(&slice_end);
	}
	return NULL;
}

static void slice(long rounds)
{
	batches = rounds / couples / BATCH;
	workers_do();
}

int main(int argc, char **argv)
{
	couples = argc == 2 || argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	if (couples < 1 || couples > COUPLES_MAX)
		return 2;
	workers_ready(2 * couples);
	for (long i = 0; i < couples; i++) {
		all[i].seed = (uint32_t)i * 2654435761u + 1;
		sem_init(&all[i].room, 0, SLOTS);
		sem_init(&all[i].filled, 0, 0);
		worker(allocates, &all[i]);
		worker(frees, &all[i]);
	}
	return take_turns(slice, argv[2], couples * BATCH);
}
