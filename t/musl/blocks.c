/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks.c SEED - blocks of musl's allocator of random sizes, aligned and resized at random, by four threads: the
 * tracker's own reading of a block (src/shared/sys/musl_block.h) says of each what malloc_usable_size says.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/shared/sys/musl_block.c"
#include "../../src/tracker/real/musl.c"

/* its imports */
struct mw_real mw_real = { .malloc = malloc, .free = free, .malloc_usable_size = malloc_usable_size };
const char *mw_glibc_version(void)
{
	return NULL;
}
bool mw_object_of(uintptr_t address, struct mw_object *o)
{
	(void)address;
	(void)o;
	return true;
}
bool mw_is_libc(const struct link_map *map)
{
	(void)map;
	return true;
}

enum { KEPT = 2000, TURNS = 60000, THREADS = 4 };

static unsigned next(unsigned *seed, unsigned below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (unsigned)((uint64_t)*seed * below >> 32);
}

/* Mostly small; of each size class, and up to 600 KB. */
static size_t any_size(unsigned *seed)
{
	return next(seed, 16u << next(seed, 7)) + (next(seed, 40) ? 0 : next(seed, 600000));
}

static void check(const void *p, size_t n, long *unread)
{
	size_t usable = 0;

	if (!mw_musl_plain(p, &usable)) {
		++*unread;
	} else if (usable != n || usable != malloc_usable_size((void *)(uintptr_t)p)) {
		printf("%zu bytes at %p: %zu were read\n", n, p, usable);
		exit(1);
	}
}

static void *work(void *arg)
{
	struct {
		char *p;
		size_t n;
	} kept[KEPT] = { 0 };
	unsigned seed = (unsigned)(uintptr_t)arg;
	long unread = 0;

	for (int i = 0; i < TURNS; i++) {
		unsigned at = next(&seed, KEPT), how = next(&seed, 4);
		size_t n = any_size(&seed);

		if (how == 0 && kept[at].p) {
			check(kept[at].p, kept[at].n, &unread);
			kept[at].p = realloc(kept[at].p, n + 1);
			kept[at].n = n + 1;
		} else {
			free(kept[at].p);
			kept[at].n = n;
			kept[at].p = how == 1 ? aligned_alloc((size_t)1 << next(&seed, 23), n) : malloc(n);
		}
		if (!kept[at].p)
			exit(2);
		memset(kept[at].p, -1, kept[at].n);
		check(kept[at].p, kept[at].n, &unread);
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i].p);
	return (void *)(uintptr_t)unread;
}

int main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t threads[THREADS];
	long unread = 0;

	mw_real_musl_try();
	if (!mw_real_musl_plain) {
		puts("musl's blocks can't be read");
		return 1;
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(seed * THREADS + i));
	for (unsigned i = 0; i < THREADS; i++) {
		void *of;

		pthread_join(threads[i], &of);
		unread += (long)(intptr_t)of;
	}
	printf("%ld of %d not read\n", unread, THREADS * TURNS);
	return unread > THREADS * TURNS / 50; /* those far behind their group, aligned to a lot */
}
