/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks.c - the live blocks, sorted by address, and mappings that have no blocks in them.
 *
 * A library may keep its tables in memory that it mapped itself, as Ruby does from 3.2 to 3.4 with the names of
 * objects' variables. An allocator's mapping has blocks in it, and that of Ruby's heap has objects: these lead to
 * blocks themselves. A pool of stacks has guard pages, so it isn't readable in one piece.
 */
#include <string.h>

#include "child.h"
#include "shared/sys/sys.h"

enum { DIGIT = 11, LOWEST = 4, HIGHEST = MW_RANGE_ADDRESS }; /* bits of an address, 16 bytes apart */

static struct mw_range block_range(const void *of, uint32_t i)
{
	const struct mw_block *b = (const struct mw_block *)of + i;

	return (struct mw_range){ b->addr, mw_block_end(b) };
}

struct copy {
	struct mw_walk *w;
	uint32_t room;
};

static void count_block(const struct mw_live *l, void *ctx)
{
	(void)l;
	((struct copy *)ctx)->room++;
}

/* A block that was freed past the tracker may lie in memory that isn't mapped any more. */
static bool readable(const struct mw_walk *w, uintptr_t start, uint64_t size)
{
	const struct mw_mapping *m;

	while ((m = mw_mapping_of(w->mappings, w->n_mappings, start))) {
		if (size <= m->end - start)
			return true;
		size -= m->end - start;
		start = m->end;
	}
	return false;
}

static void copy_block(const struct mw_live *l, void *ctx)
{
	struct copy *c = ctx;
	struct mw_walk *w = c->w;

	uint64_t size = l->size < MW_BLOCK_SIZE ? l->size : MW_BLOCK_SIZE;

	if (w->n_blocks < c->room && !(l->addr >> MW_RANGE_ADDRESS) && readable(w, l->addr, l->size))
		w->blocks[w->n_blocks++] = (struct mw_block){
			l->addr, size & MW_BLOCK_SIZE, l->generation < w->old, false, l->id % MW_ID_END
		};
}

static void count_mapping(uintptr_t start, size_t bytes, uint32_t id, void *ctx)
{
	(void)start;
	(void)bytes;
	(void)id;
	((struct copy *)ctx)->room++;
}

static void copy_mapping(uintptr_t start, size_t bytes, uint32_t id, void *ctx)
{
	struct copy *c = ctx;
	struct mw_walk *w = c->w;

	if (w->n_blocks < c->room && !(start >> MW_RANGE_ADDRESS) && bytes < MW_BLOCK_SIZE &&
	    readable(w, start, bytes) && !mw_has_objects(w, start, start + bytes))
		w->blocks[w->n_blocks++] =
			(struct mw_block){ start, bytes & MW_BLOCK_SIZE, false, true, id % MW_ID_END };
}

/* Takes mappings out that have blocks in them. Ranges must not overlap. */
static void drop_allocators(struct mw_walk *w)
{
	uint32_t n = 0;
	uintptr_t end = 0; /* of all before it */

	for (uint32_t i = 0; i < w->n_blocks; i++) {
		const struct mw_block *b = &w->blocks[i];
		bool shared = b->addr < end ||
			      (i + 1 < w->n_blocks && w->blocks[i + 1].addr < mw_block_end(b));

		if (mw_block_end(b) > end)
			end = mw_block_end(b);
		if (!b->mapping || !shared)
			w->blocks[n++] = *b;
	}
	w->n_blocks = n;
}

/* How surely blocks live: see live_leads; or a later generation. 0: not seen. */
struct ages {
	const struct mw_walk *w;
	uint64_t *of;
};

static void note_age(const struct mw_live *l, void *ctx)
{
	struct ages *ages = ctx;
	const struct mw_walk *w = ages->w;
	const struct mw_mapping *m = mw_mapping_of(w->mappings, w->n_mappings, l->addr);
	uint64_t leads = m && w->api->live_leads && w->api->live_leads(l, m->end - l->addr);
	uint32_t low = 0, high = w->n_blocks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->blocks[middle].addr < l->addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < w->n_blocks && w->blocks[low].addr == l->addr; low++) {
		const struct mw_block *b = &w->blocks[low];

		if (!b->mapping && !ages->of[low] && b->id == l->id % MW_ID_END && b->size == l->size) {
			ages->of[low] = leads << 63 | (l->generation + 1);
			return;
		}
	}
}

/* Of blocks that overlap one lives: the others were freed past the tracker, and their memory is another one's. */
static void drop_freed(struct mw_walk *w)
{
	struct ages ages = { w, NULL };
	size_t bytes = (size_t)w->n_blocks * sizeof(*ages.of);
	uint32_t n = 1;

	for (uint32_t i = 1; i < w->n_blocks && !ages.of; i++)
		if (w->blocks[i].addr < mw_block_end(&w->blocks[i - 1]))
			ages.of = mw_child_map(w, bytes);
	if (!ages.of)
		return;
	w->api->each_live(note_age, &ages);
	for (uint32_t i = 1; i < w->n_blocks; i++) {
		const struct mw_block *b = &w->blocks[i], *last = &w->blocks[n - 1];

		if (b->addr >= mw_block_end(last))
			n++;
		else if (ages.of[i] < ages.of[n - 1])
			continue;
		w->blocks[n - 1] = *b;
		ages.of[n - 1] = ages.of[i];
	}
	w->n_blocks = n;
	mw_sys_unmap(ages.of, bytes);
}

/* Sorts by one digit of the address, the lowest digit first. */
static void sort_digit(const struct mw_block *from, struct mw_block *to, uint32_t n, int shift)
{
	uint32_t at[1 << DIGIT] = { 0 }, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		at[from[i].addr >> shift & ((1 << DIGIT) - 1)]++;
	for (uint32_t d = 0; d < 1 << DIGIT; d++) {
		uint32_t k = at[d];

		at[d] = sum;
		sum += k;
	}
	for (uint32_t i = 0; i < n; i++)
		to[at[from[i].addr >> shift & ((1 << DIGIT) - 1)]++] = from[i];
}

static void sort(struct mw_walk *w, size_t bytes)
{
	struct mw_block *other = mw_child_map(w, bytes);

	for (int shift = LOWEST; shift < HIGHEST; shift += DIGIT) {
		struct mw_block *sorted = other;

		sort_digit(w->blocks, sorted, w->n_blocks, shift);
		other = w->blocks;
		w->blocks = sorted;
	}
	mw_sys_unmap(other, bytes);
}

void mw_copy_blocks(struct mw_walk *w)
{
	struct copy c = { w, 0 };
	size_t bytes, room;

	w->api->each_live(count_block, &c);
	if (w->api->each_mapping)
		w->api->each_mapping(count_mapping, &c);
	bytes = ((size_t)c.room + w->n_sampled) * sizeof(*w->blocks) + 1;
	w->blocks = mw_child_map(w, bytes);
	w->api->each_live(copy_block, &c);
	if (w->api->each_mapping)
		w->api->each_mapping(copy_mapping, &c);
	sort(w, bytes);
	drop_allocators(w);
	drop_freed(w);
	room = (size_t)w->n_blocks + w->n_sampled + 1;
	w->from = mw_child_map(w, room * sizeof(*w->from));
	w->via = mw_child_map(w, room);
	w->by = mw_child_map(w, room);
	w->shape = mw_child_map(w, room);
	w->blocks_at = (struct mw_ranges){ .n = w->n_blocks, .at = block_range, .of = w->blocks };
	w->blocks_at.windows = mw_child_map(w, MW_RANGES_WINDOWS_BYTES);
	w->blocks_at.first = mw_child_map(w, mw_ranges_windows(&w->blocks_at) + sizeof(uint32_t));
	mw_ranges_fill(&w->blocks_at);
}
