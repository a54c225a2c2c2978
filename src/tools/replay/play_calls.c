/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "play_calls.h"

#include <stdlib.h>

enum { CACHE_LINE = 64, WHOLE_LINES = 4096 };

/* --- writing to a block, as the app did --------------------------------------------------- */

static void write_at(char *p, uint64_t at)
{
	*(volatile char *)(p + at) = 1;
}

/* From `from` to its end: each cache line of a small block, each page of others. */
static void fill_block(const struct mw_play_calls *c, char *p, uint64_t from, uint64_t size)
{
	uint64_t step = size < WHOLE_LINES ? CACHE_LINE : c->page;

	if (from >= size)
		return;
	for (uint64_t at = from; at < size; at += step)
		write_at(p, at);
	write_at(p, size - 1);
}

/* So many pages from its start on, as counted there. */
static void fill_pages(const struct mw_play_calls *c, char *p, uint64_t pages, uint64_t size)
{
	uint64_t bytes = pages > size / c->recorded_page ? size : pages * c->recorded_page;

	fill_block(c, p, 0, bytes);
}

/* size, kept: as for begin_block. */
static void use(const struct mw_play_calls *c, const struct mw_packed_event *e, void *p, uint64_t size,
		uint64_t kept)
{
	if (e->is.size < MW_TRACE_LARGE)
		fill_block(c, p, kept, size);
	else if (e->pages == UINT64_MAX)
		fill_block(c, p, kept, size < c->fill_most ? size : c->fill_most);
	else
		fill_pages(c, p, e->pages, size);
}

/* --- calls ----------------------------------------------------------------------------------- */

static void *take_aligned(uint64_t alignment, uint64_t size)
{
	uint64_t power = sizeof(void *);
	void *p = NULL;

	while (power < alignment && power < UINT64_C(1) << 62)
		power *= 2;
	return posix_memalign(&p, power, size) == 0 ? p : NULL;
}

static void end_block(struct mw_play_calls *c, struct mw_play_block *b)
{
	uint64_t from = mw_ticks();

	free(b->p);
	mw_play_clock_add(&c->clock, from, mw_ticks());
	c->live -= b->size;
	*b = (struct mw_play_block){ 0 };
}

/* n a multiple of `step`, with its bit set. */
static bool has_bit(uint64_t bits, uint64_t n, uint64_t step)
{
	return n && n % step == 0 && n / step <= 64 && bits >> (n / step - 1) & 1;
}

/*
 * The bytes that the tracker asked for. On allocators with size classes some blocks have no tail (record.h has the rule).
 * A block from before the recording is taken for malloc's.
 */
static uint64_t with_tail(const struct mw_play_calls *c, const struct mw_packed_event *e)
{
	uint64_t n = e->is.size;
	bool may = c->untailed && n >= c->untailed && e->is.op != MW_OP_ALIGNED;

	if (e->is.op == MW_OP_OWN || (may && ((n & (n - 1)) == 0 || has_bit(c->untailed_128, n, 128) ||
					      has_bit(c->untailed_1024, n, 1024))))
		return n;
	return n + c->tail;
}

/* size: with the tail. kept: bytes that realloc took along. */
static void begin_block(struct mw_play_calls *c, const struct mw_packed_event *e, void *p, uint64_t size,
			uint64_t kept)
{
	c->births++;
	c->live += e->is.size;
	c->blocks[e->slot] = (struct mw_play_block){ p, e->is.size };
	if (p)
		use(c, e, p, size, kept);
	else
		c->failed++;
}

/* A block that realloc refuses to move ends all the same, as it did in the app. */
static void move_block(struct mw_play_calls *c, const struct mw_packed_event *e)
{
	struct mw_play_block b = c->blocks[e->slot];
	uint64_t size = with_tail(c, e), from = mw_ticks();
	void *now = realloc(b.p, size ? size : 1);

	mw_play_clock_add(&c->clock, from, mw_ticks());
	c->live -= b.size;
	if (!now)
		free(b.p);
	begin_block(c, e, now, size, !b.p ? 0 : b.size < e->is.size ? b.size : e->is.size);
}

int malloc_trim(size_t) __attribute__((weak)); /* musl has none, and no trims are asked for */

/* Others' blocks aren't in the heap that glibc would trim. */
static void trim_heap(struct mw_play_calls *c, size_t keep)
{
	uint64_t from = mw_ticks();

	if (!c->trims)
		return;
	malloc_trim(keep);
	mw_play_clock_add(&c->clock, from, mw_ticks());
}

void mw_play_call(struct mw_play_calls *c, const struct mw_packed_event *e)
{
	uint64_t size = with_tail(c, e), from;
	void *p;

	if (e->is.op == MW_OP_OWN && !c->tail) /* without the tracker there is none */
		return;
	switch (e->is.op) {
	case MW_OP_MALLOC:
	case MW_OP_LIVE:
	case MW_OP_OWN:
		from = mw_ticks();
		p = malloc(size);
		break;
	case MW_OP_CALLOC:
		from = mw_ticks();
		p = calloc(1, size);
		break;
	case MW_OP_ALIGNED:
		from = mw_ticks();
		p = take_aligned(e->is.extra, size);
		break;
	case MW_OP_REALLOC:
		move_block(c, e);
		return;
	case MW_OP_FREE:
	case MW_OP_FREE_LARGE:
		end_block(c, &c->blocks[e->slot]);
		return;
	case MW_OP_TRIM:
		trim_heap(c, e->is.extra);
		return;
	default: /* RESIDENT: its pages are known from the birth on */
		return;
	}
	mw_play_clock_add(&c->clock, from, mw_ticks());
	begin_block(c, e, p, size, 0);
}
