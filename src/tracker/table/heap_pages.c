/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap_pages.h"

#include <stdlib.h>

#include "shared/sys/mw_assert.h"
#include "shared/sys/ranks.h"
#include "shared/sys/root.h"
#include "tracker/base/arena.h"
#include "tracker/base/wait.h"

__extension__ typedef unsigned __int128 u128;

/* Exact: with a rounded sum of squares, long spans would lose their deviation. */
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

/*
 * Ruby's threads write these under `lock`: they wait for each other only, for some instructions.
 * A reader takes no lock, or Ruby would wait for an own thread that waits for a CPU. It copies,
 * and copies again if `version` changed meanwhile. Tables that became too small stay mapped for
 * these readers.
 */
static uint32_t lock;    /* acquire, release */
static uint32_t version; /* odd: a change is under way. See enter, leave and undisturbed */
static struct entry *table;
static size_t size, used; /* entries; a power of two, and less than three quarters of it */
static struct mw_heap_sums sums;    /* without its spans, which are here: */
static struct spans lives, deaths;

static void enter(void)
{
	unsigned turns = 0;

	mw_rank_wait(MW_RANK_HEAP_PAGES);
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		mw_let_run(&turns);
	mw_rank_took(MW_RANK_HEAP_PAGES);
	mw_assert(mw_get(&version) % 2 == 0);
	mw_set(&version, mw_get(&version) + 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* before what changes */
}

static void leave(void)
{
	mw_assert(version % 2 && used <= size / 4 * 3);
	mw_rank_left(MW_RANK_HEAP_PAGES);
	__atomic_store_n(&version, mw_get(&version) + 1, __ATOMIC_RELEASE); /* after it */
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/*
 * Calls f(to) until nothing changed during the call. False: each call saw a change. f may read
 * torn values until then, but every pointer is readable.
 */
static bool undisturbed(void (*f)(void *to), void *to)
{
	enum {
		TRIES = 2000
	}; /* the later ones are a millisecond apart: Ruby may make pages all the time */
	unsigned turns = 0;

	while (turns < TRIES) {
		uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);

		if (before % 2 == 0) {
			f(to);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (mw_get(&version) == before)
				return true;
		}
		mw_let_run(&turns);
	}
	return false;
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

static struct mw_spans spans_of(const struct spans *from)
{
	struct mw_spans s = from->s;

	if (s.n)
		s.stddev = mw_root((double)(from->squares * s.n - (u128)s.sum * s.sum)) / (double)s.n;
	return s;
}

/* addr's entry, or the free one where it belongs. */
static struct entry *entry_of(struct entry *in, size_t n, uintptr_t addr)
{
	/* pages are aligned to 16 KiB or 64 KiB: addresses differ above that */
	size_t i = (size_t)((addr >> 14) * 0x9e3779b97f4a7c15u >> 20) & (n - 1);

	while (in[i].addr && in[i].addr != addr)
		i = (i + 1) & (n - 1);
	return &in[i];
}

/* Room for one more; false: no memory, and nothing changed. */
static bool grow_pages(void)
{
	size_t more = size ? size * 2 : FIRST;
	struct entry *bigger;

	if (used + 1 < size - size / 4)
		return true;
	bigger = mw_arena_grow(more * sizeof(*bigger), MW_ARENA_RECORD);
	if (!bigger)
		return false;
	for (size_t i = 0; i < size; i++)
		if (table[i].addr)
			*entry_of(bigger, more, table[i].addr) = table[i];
	/* a reader takes the size first: see copy_pages */
	__atomic_store_n(&table, bigger, __ATOMIC_RELEASE);
	__atomic_store_n(&size, more, __ATOMIC_RELEASE);
	return true;
}

void mw_heap_page_born(uintptr_t addr, size_t bytes, uint32_t generation)
{
	struct entry *e;

	enter();
	if (!grow_pages()) {
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

static void sums_now(void *p)
{
	struct mw_heap_sums *to = p;

	*to = sums;
	to->lives = spans_of(&lives);
	to->deaths = spans_of(&deaths);
}

void mw_heap_sums(struct mw_heap_sums *to)
{
	if (!undisturbed(sums_now, to))
		*to = (struct mw_heap_sums){ 0 };
}

/* A copy with room for that many pages; of more pages it has the first ones. */
struct copy {
	struct mw_heap *heap;
	size_t room;
};

static void copy_pages(void *p)
{
	const struct copy *c = p;
	struct mw_heap *to = c->heap;
	size_t n = __atomic_load_n(&size, __ATOMIC_ACQUIRE); /* first: the table has no fewer */
	const struct entry *from = __atomic_load_n(&table, __ATOMIC_ACQUIRE);

	sums_now(&to->sums);
	to->v = (struct mw_heap_page *)(void *)(to + 1);
	to->n = 0;
	for (size_t i = 0; i < n && to->n < c->room; i++)
		if (from[i].addr && from[i].bytes)
			to->v[to->n++] = (struct mw_heap_page){
				.addr = from[i].addr, .bytes = from[i].bytes, .generation = from[i].since
			};
}

struct mw_heap *mw_heap_copy(void)
{
	struct copy c = { NULL, 64 };
	bool whole;

	for (;;) {
		c.heap = malloc(sizeof(*c.heap) + c.room * sizeof(*c.heap->v));
		if (!c.heap)
			return NULL;
		whole = undisturbed(copy_pages, &c);
		if (whole && c.heap->sums.pages <= c.room)
			return c.heap;
		c.room = c.heap->sums.pages + c.heap->sums.pages / 8; /* more may come meanwhile */
		free(c.heap);
		if (!whole)
			return NULL;
	}
}

/* A thread with a change under way doesn't exist in the child. */
void mw_heap_pages_after_fork(void)
{
	mw_set(&version, mw_get(&version) & ~1u);
	mw_set(&lock, 0);
}
