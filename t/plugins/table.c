/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.c - a library that calls the allocator by a table of its own, as SQLite and libxml2 do: see
 * started.t. The linker fills the first one in; the second is filled in at run time.
 */
#include "../lib/site.h"

struct functions {
	void *(*take)(size_t);
	void *(*change)(void *, size_t);
	void (*give)(void *);
};

static const struct functions linked = { malloc, realloc, free };
static struct functions copied;

SITE void table_copy(void);
SITE void table_copy(void)
{
	copied = (struct functions){ malloc, realloc, free };
}

/* n blocks of `size` bytes by the first table, all kept. */
SITE void table_keep(int n, size_t size);
SITE void table_keep(int n, size_t size)
{
	while (n-- > 0)
		keep(linked.take(size));
}

/* n blocks by the second table, which grow and are freed by the first. */
SITE void table_turn(int n, size_t size);
SITE void table_turn(int n, size_t size)
{
	while (n-- > 0) {
		char *p = copied.take(size);

		memset(p, 1, size);
		p = linked.change(p, size * 2);
		if (p[size - 1] != 1)
			abort();
		linked.give(p);
	}
}

static void *kept[1000];

/* Blocks that are freed later: here all are allocated. */
SITE void table_fill(size_t size);
SITE void table_fill(size_t size)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = linked.take(size);
}

SITE void table_drop(void);
SITE void table_drop(void)
{
	for (int i = 0; i < 1000; i++)
		linked.give(kept[i]);
}

/* --- threads of their own ------------------------------------------------------------- */

static int running; /* threads; 0: they end */
static long turns;
static const char *library; /* the first thread loads and closes it again and again */

static void *load(void *unused)
{
	(void)unused;
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		void *handle = dlopen(library, turns % 2 ? RTLD_NOW : RTLD_LAZY);
		void *(*const *maker)(size_t) = dlsym(handle, "swap_maker");

		free((*maker)(100));
		dlclose(handle);
	}
	return NULL;
}

static void *turn_on(void *unused)
{
	void *mine[64] = { NULL };
	unsigned dice = (unsigned)(uintptr_t)&mine;

	(void)unused;
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		void **p = &mine[(dice = dice * 1103515245 + 12345) >> 26];
		size_t n = 1 + (dice >> 8) % 3000;

		if (dice & 16) {
			*p = realloc(*p, n);
		} else {
			free(*p);
			*p = dice & 32 ? strdup("a text that the C library copies") : malloc(n);
		}
		*(char *)*p = 'p';
		__atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < 64; i++)
		free(mine[i]);
	return NULL;
}

/* n > 0: starts so many threads, which allocate until a call with 0. Returns their turns so far. */
SITE int table_threads(int n, const char *file);
SITE int table_threads(int n, const char *file)
{
	static pthread_t all[16];
	int were = running;

	if (n)
		library = file; /* until its thread ends */
	__atomic_store_n(&running, n, __ATOMIC_RELEASE);
	for (int i = 0; i < n; i++)
		pthread_create(&all[i], NULL, i ? turn_on : load, NULL);
	for (int i = 0; !n && i < were; i++)
		pthread_join(all[i], NULL);
	return (int)turns;
}
