/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap_pages.h"

#include <sched.h>
#include <stdlib.h>

#include "own.h"

__extension__ typedef unsigned __int128 u128;

/* Exact: a sum of squares that was rounded would have no deviation left of long spans. */
struct spans {
	struct mw_spans s;
	u128 squares; /* their sum */
};

struct entry {
	uintptr_t addr; /* 0: none */
	uint32_t bytes; /* of the live page; 0: it is dead */
	uint32_t since; /* generation of its birth or death */
};

enum { FIRST = 256 }; /* entries at first: 16 MiB of pages */

static uint32_t lock; /* acquire, release: guards all below */
static struct entry *table;
static size_t size, used; /* entries; a power of two, and less than three quarters of it */
static struct mw_heap_sums sums;    /* but for what is in these: */
static struct spans lives, deaths;

static void enter(void)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void leave(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void span(struct spans *to, uint32_t from, uint32_t until)
{
	struct mw_spans *s = &to->s;
	uint64_t v = until - from;

	s->min = !s->n || v < s->min ? v : s->min;
	s->max = v > s->max ? v : s->max;
	s->sum += v;
	s->n++;
	to->squares += (u128)v * v;
}

/* The square root, by Newton's steps down from above: libm is not linked to. */
static double root(double v)
{
	double x = v > 1 ? v : 1, next;

	while ((next = (x + v / x) / 2) < x)
		x = next;
	return v > 0 ? x : 0;
}

static struct mw_spans spans_of(const struct spans *from)
{
	struct mw_spans s = from->s;

	if (s.n)
		s.stddev = root((double)(from->squares * s.n - (u128)s.sum * s.sum)) / (double)s.n;
	return s;
}

/* addr's entry, or the free one where it belongs. */
static struct entry *entry_of(struct entry *in, size_t n, uintptr_t addr)
{
	/* pages are aligned to 16 KiB or 64: what differs is above that */
	size_t i = (size_t)((addr >> 14) * 0x9e3779b97f4a7c15u >> 20) & (n - 1);

	while (in[i].addr && in[i].addr != addr)
		i = (i + 1) & (n - 1);
	return &in[i];
}

/* Room for one more; false: no memory, and nothing changed. */
static bool grow(void)
{
	size_t more = size ? size * 2 : FIRST;
	struct entry *bigger;

	if (used + 1 < size - size / 4)
		return true;
	bigger = mw_own_grow(more * sizeof(*bigger), MW_OWN_RECORD);
	if (!bigger)
		return false;
	for (size_t i = 0; i < size; i++)
		if (table[i].addr)
			*entry_of(bigger, more, table[i].addr) = table[i];
	if (table)
		mw_own_unmap(table, size * sizeof(*table));
	table = bigger;
	size = more;
	return true;
}

void mw_heap_page_born(uintptr_t addr, size_t bytes, uint32_t generation)
{
	struct entry *e;

	enter();
	if (!grow()) {
		sums.lost++;
	} else {
		e = entry_of(table, size, addr);
		if (!e->addr) {
			e->addr = addr;
			used++;
		} else if (e->bytes) { /* its death was missed */
			sums.pages--;
			sums.bytes -= e->bytes;
		} else {
			span(&deaths, e->since, generation);
		}
		e->bytes = (uint32_t)bytes;
		e->since = generation;
		sums.pages++;
		sums.bytes += bytes;
	}
	leave();
}

void mw_heap_page_dies(uintptr_t addr, size_t bytes, uint32_t generation)
{
	struct entry *e;

	enter();
	e = size ? entry_of(table, size, addr) : NULL;
	if (e && e->addr && e->bytes && e->bytes == bytes) {
		span(&lives, e->since, generation);
		sums.pages--;
		sums.bytes -= bytes;
		e->bytes = 0;
		e->since = generation;
	}
	leave();
}

/* Inside the lock. */
static void sums_now(struct mw_heap_sums *to)
{
	*to = sums;
	to->lives = spans_of(&lives);
	to->deaths = spans_of(&deaths);
}

void mw_heap_sums(struct mw_heap_sums *to)
{
	enter();
	sums_now(to);
	leave();
}

/* Inside the lock; *to has room for all. */
static void copy(struct mw_heap *to)
{
	sums_now(&to->sums);
	to->v = (struct mw_heap_page *)(void *)(to + 1);
	to->n = 0;
	for (size_t i = 0; i < size; i++)
		if (table[i].addr && table[i].bytes)
			to->v[to->n++] = (struct mw_heap_page){
				.addr = table[i].addr, .bytes = table[i].bytes, .generation = table[i].since
			};
}

struct mw_heap *mw_heap_copy(void)
{
	size_t room = 64;

	for (;;) {
		struct mw_heap *h = malloc(sizeof(*h) + room * sizeof(*h->v));
		size_t pages;

		if (!h)
			return NULL;
		enter();
		pages = sums.pages;
		if (pages <= room)
			copy(h);
		leave();
		if (pages <= room)
			return h;
		free(h);
		room = pages + pages / 8; /* some may be born meanwhile */
	}
}

void mw_heap_pages_after_fork(void)
{
	leave();
}
