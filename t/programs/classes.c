/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classes [unaligned] - pages of memory whose blocks change their size class all the time.
 *
 * Two threads fill a table of blocks with one size after the other, by each way to allocate, and
 * free or resize what the other one put there. Each block is filled to the end of its room and
 * looked at before it goes: a free with a wrong size would give somebody a room that isn't theirs.
 * unaligned: not by memalign and posix_memalign, after which mimalloc 3.0 crashes by itself.
 * Allocators that tell a block's room by a name of their own must agree with malloc_usable_size.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/found.h"

enum { SLOTS = 3000, PHASES = 60, TURNS = 12000, TAIL = 8 };

struct block {
	size_t n, room;
	unsigned char fill;
};

static struct {
	void *p;
	struct block b;
	pthread_mutex_t lock;
} slots[SLOTS];
static uint64_t broken, wrong_room;
static size_t (*real_room)(const void *); /* the allocator's own; NULL: it has none */
static bool tracked, unaligned;

static void *any_alloc(uint32_t how, size_t n)
{
	void *p = NULL;

	switch (how % 8 + (unaligned ? 8 : 0)) {
	case 0:
	case 8:
		return calloc(1, n);
	case 1:
		return memalign(64, n);
	case 2:
		return posix_memalign(&p, 256, n) ? NULL : p;
	case 3:
	case 11:
		return realloc(malloc(n * 2 + 1), n);
	default:
		return malloc(n);
	}
}

static void fill(void *p, struct block *b, size_t n, unsigned char with)
{
	size_t room = malloc_usable_size(p), real = real_room ? real_room(p) : room;

	if (room < n || (real_room && room != real && !(tracked && room + TAIL == real)))
		__atomic_fetch_add(&wrong_room, 1, __ATOMIC_RELAXED);
	*b = (struct block){ .n = n, .room = room, .fill = with };
	memset(p, with, room);
}

static void look(const void *p, const struct block *b, size_t upto)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < upto; i++) {
		if (c[i] == b->fill)
			continue;
		__atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
		return;
	}
}

static void *work(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg * 2654435761u + 1;

	for (int phase = 0; phase < PHASES; phase++) {
		size_t step = 8u << phase % 7; /* a phase's sizes: so pages go from class to class */

		for (int i = 0; i < TURNS; i++) {
			size_t at, n;
			void *q;

			seed = seed * 1664525u + 1013904223u;
			at = (seed >> 16) % SLOTS;
			n = step + (seed >> 9) % step;
			if (phase % 20 == 19) /* that fill a class of 5 to 20 KiB, or nearly so */
				n = ((seed >> 9) % 16 + 5) * 1024 - (seed >> 30) * 4;
			pthread_mutex_lock(&slots[at].lock);
			if (slots[at].p)
				look(slots[at].p, &slots[at].b, slots[at].b.room);
			if (slots[at].p && seed >> 28 == 7) {
				size_t was = slots[at].b.n;

				q = realloc(slots[at].p, n);
				if (!q)
					exit(3);
				look(q, &slots[at].b, n < was ? n : was);
			} else {
				free(slots[at].p);
				q = any_alloc(seed >> 24, n);
				if (!q)
					exit(3);
			}
			slots[at].p = q;
			fill(q, &slots[at].b, n, (unsigned char)(seed >> 20));
			pthread_mutex_unlock(&slots[at].lock);
		}
		malloc_trim(0);
	}
	return NULL;
}

/* A function of this name in any library. */
static void *of_name(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static size_t by_sallocx(const void *p)
{
	static size_t (*sallocx)(const void *, int);

	if (!sallocx)
		sallocx = (size_t (*)(const void *, int))of_name("sallocx");
	return sallocx(p, 0);
}

int main(int argc, char **argv)
{
	struct mw_stats s;
	pthread_t other;

	(void)argv;
	unaligned = argc > 1;
	tracked = tracker() != NULL;
	real_room = of_name("sallocx") ? by_sallocx : (size_t (*)(const void *))of_name("mi_usable_size");
	if (!real_room)
		real_room = (size_t (*)(const void *))of_name("tc_malloc_size");
	for (int i = 0; i < SLOTS; i++)
		pthread_mutex_init(&slots[i].lock, NULL);
	if (pthread_create(&other, NULL, work, (void *)(uintptr_t)1))
		return 2;
	work(NULL);
	pthread_join(other, NULL);
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i].p)
			look(slots[i].p, &slots[i].b, slots[i].b.room);
		free(slots[i].p);
	}
	s = stats();
	printf("written to by others %llu, wrong rooms %llu, strays %llu\n", (unsigned long long)broken,
	       (unsigned long long)wrong_room,
	       (unsigned long long)(s.overruns + s.double_frees + s.unknown_frees));
	return 0;
}
