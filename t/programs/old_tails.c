/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * old_tails - blocks whose memory still has the tails of larger ones.
 *
 * On allocators with size classes a block whose size is a class has no tail. Blocks of the next
 * class are filled into pages and freed; the pages are then cut into blocks of that size. A block may
 * begin where one of the larger did, and have its record: a room guessed by the old tail would reach
 * into the next block.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 3000, BLOCKS = 100 };

static void *blocks[BLOCKS];
static size_t (*real_room)(const void *); /* the allocator's own; NULL: it has none */
static void (*collect)(int);

/* Is malloc_usable_size right, less a tail? */
static int is_right(const void *p, size_t n)
{
	size_t room = malloc_usable_size((void *)p), real = real_room ? real_room(p) : room;

	return room >= n && (room == real || room + 8 == real);
}

static void shuffle(uint32_t *seed)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *p = blocks[i];
		uint32_t k;

		*seed = *seed * 1664525u + 1013904223u;
		k = (*seed >> 16) % BLOCKS;
		blocks[i] = blocks[k];
		blocks[k] = p;
	}
}

static void free_all(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	if (collect)
		collect(1);
}

int main(void)
{
	uint32_t seed = 1;
	int wrong = 0;

	real_room = (size_t (*)(const void *))dlsym(RTLD_DEFAULT, "mi_usable_size");
	if (!real_room)
		real_room = (size_t (*)(const void *))dlsym(RTLD_DEFAULT, "tc_malloc_size");
	collect = (void (*)(int))dlsym(RTLD_DEFAULT, "mi_collect");
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = (size_t)512 << round % 3;

		for (int i = 0; i < BLOCKS; i++) {
			blocks[i] = malloc(n + n / 8 + round % 8);
			(void)is_right(blocks[i], 0); /* so that the page is known */
		}
		shuffle(&seed);
		free_all();
		for (int i = 0; i < BLOCKS; i++) {
			blocks[i] = round % 5 == 4 ? memalign(2 * n, n) : malloc(n);
			wrong += !is_right(blocks[i], n);
		}
		free_all();
	}
	printf("wrong %d\n", wrong);
	return 0;
}
