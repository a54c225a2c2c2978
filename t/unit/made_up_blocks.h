/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_up_blocks.h - for the tests of the memory map: blocks that the test makes up, in an area of this very
 * process of which every other page is in memory.
 */
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "../../src/memory/map.h"

enum { PAGES = 700, BLOCKS = 4000 };

static uintptr_t page, area; /* PAGES pages between two guards */
static struct mw_live blocks[BLOCKS];
static size_t n_blocks;
static const char *allocator_name = "jemalloc";
static enum mw_missing missing;
static char names[4][16] = { "", "a.rb:1", "b.rb:2", "c.rb:3" };

static const char *allocator(void)
{
	return allocator_name;
}

static void each_live(void (*f)(const struct mw_live *, void *ctx), void *ctx)
{
	for (size_t i = 0; i < n_blocks; i++)
		f(&blocks[i], ctx);
}

static struct mw_snapshot *snapshot(void)
{
	static struct mw_row rows[4];
	static struct mw_snapshot s = { .rows = rows };

	s.n = 0;
	for (uint32_t id = 1; id < 4; id++)
		rows[s.n++] = (struct mw_row){
			.id = id, .location = names[id], .location_len = (uint32_t)strlen(names[id])
		};
	rows[s.n++] =
		(struct mw_row){ .id = 9, .location = names[1], .location_len = 6 }; /* a.rb:1 once more */
	return &s;
}

static void snapshot_free(struct mw_snapshot *s)
{
	(void)s;
}

static void stats(struct mw_stats *s)
{
	*s = (struct mw_stats){ .missing = missing };
}

static struct mw_heap *heap(void)
{
	return NULL;
}

static const struct mw_api api = {
	.snapshot = snapshot,
	.snapshot_free = snapshot_free,
	.stats = stats,
	.heap = heap,
	.each_live = each_live,
	.allocator = allocator
};

static void block(uintptr_t at, uint64_t size, uint32_t id)
{
	assert_true(n_blocks < BLOCKS);
	blocks[n_blocks++] = (struct mw_live){ .addr = at, .size = size, .id = id };
}

static uintptr_t at(size_t p)
{
	return area + p * page;
}

static void begin(void)
{
	char *p;

	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	p = mmap(NULL, (PAGES + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	area = (uintptr_t)p + page;
	mprotect((void *)area, PAGES * page, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < PAGES; i += 2) /* every other page is in memory */
		memset((void *)at(i), 1, page);
	n_blocks = 0;
	allocator_name = "jemalloc";
	missing = MW_MISSING_NONE;
}

static void end(void)
{
	munmap((void *)(area - page), (PAGES + 2) * page);
}

static unsigned state_of(const struct mw_map *m, uintptr_t a)
{
	int64_t cell = mw_map_cell_of(m, a);

	assert_true(cell >= 0);
	return m->fill[cell] & MW_MAP_IS_MASK;
}

static struct mw_map *map(void)
{
	struct mw_map *m = mw_map_make(&api, 0, NULL);

	assert_non_null(m);
	return m;
}
