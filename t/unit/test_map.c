/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory map of this very process, with blocks that the test made up: states, shares, what-if, tiles. */
/* uses: src/memory/areas.c src/memory/cells.c src/memory/chunks.c src/memory/fill.c src/memory/heaps.c src/memory/by_line.c src/server/memory/page_blocks.c src/memory/make.c src/memory/app_mappings.c src/memory/memory.c src/memory/pages.c src/shared/sys/residency.c src/server/memory/store.c src/memory/area_sums.c src/server/memory/tile.c src/shared/sys/maps.c */
/* first: parameters there have names that variables have here */
#include "unit.h"

#include "made_up_blocks.h"
#include "../../src/shared/sys/residency.h"
#include "../../src/server/memory/store.h"

static const struct mw_map_line *line(const struct mw_map *m, const char *location)
{
	for (uint32_t i = 0; i < m->n_lines; i++)
		if (!strcmp(m->lines[i].location, location))
			return &m->lines[i];
	return NULL;
}

EACH(begin, end);

TEST(states)
{
	struct mw_map *m;

	block(at(0), page, 1); /* full */
	block(at(2) + 64, 0, 1); /* a block of no bytes holds its page all the same */
	block(at(4), page / 2, 2);
	block(at(5) + 8, 100, 2); /* not in memory */
	m = map();
	assert_int_equal(state_of(m, at(0)), MW_MAP_IS_USED + MW_MAP_IS_FILL);
	assert_int_equal(state_of(m, at(2)), MW_MAP_IS_USED);
	assert_int_equal(state_of(m, at(4)), MW_MAP_IS_USED + MW_MAP_IS_FILL / 2);
	assert_int_equal(state_of(m, at(1)), MW_MAP_IS_ABSENT);
	assert_int_equal(state_of(m, at(5)), MW_MAP_IS_ABSENT);
	assert_int_equal(state_of(m, at(6)), MW_MAP_IS_EMPTY);
	assert_int_equal(m->live, 4);
	assert_int_equal(m->live_bytes, page + page / 2 + 100);
	assert_int_equal(m->outside, 0);
	assert_int_equal(m->parts[MW_MAP_LIVE], page + 1 + page / 2);
	assert_int_equal(m->parts[MW_MAP_HOLES], page - 1 + page / 2);
	assert_int_equal(m->parts[MW_MAP_EMPTY], (PAGES / 2 - 3) * page);
	assert_true(m->trim.known);
	mw_map_free(m);
	/* joined late, and the like: nobody knows what is in the other pages */
	for (missing = MW_MISSING_ONCE; missing <= MW_MISSING_MEMORY; missing++) {
		m = map();
		assert_int_equal(m->missing, missing);
		assert_int_equal(state_of(m, at(6)), MW_MAP_IS_UNKNOWN);
		assert_int_equal(m->parts[MW_MAP_EMPTY], 0);
		assert_int_equal(m->parts[MW_MAP_HOLES], page - 1 + page / 2);
		assert_int_equal(m->parts[MW_MAP_UNKNOWN], (PAGES / 2 - 3) * page);
		assert_false(m->trim.known || m->trim.bytes);
		mw_map_free(m);
	}
	/* few blocks are known: others may be beside them */
	missing = MW_MISSING_SAMPLED;
	m = map();
	assert_int_equal(state_of(m, at(6)), MW_MAP_IS_UNKNOWN);
	assert_int_equal(m->parts[MW_MAP_EMPTY], 0);
	assert_false(m->trim.known || m->trim.bytes);
	assert_int_equal(m->parts[MW_MAP_HOLES], 0);
	assert_int_equal(m->parts[MW_MAP_UNKNOWN], page - 1 + page / 2 + (PAGES / 2 - 3) * page);
	mw_map_free(m);
}

TEST(no_block_no_allocator)
{
	struct mw_map *m;

	m = map(); /* without a block it is a stack, by its guard */
	assert_int_equal(mw_map_cell_of(m, at(0)), -1);
	assert_true(m->parts[MW_MAP_STACKS] >= PAGES / 2 * page);
	assert_int_equal(m->parts[MW_MAP_LIVE] + m->parts[MW_MAP_HOLES], 0);
	mw_map_free(m);
	block(16, 100, 1);
	block((uintptr_t)1 << 60, 100, 1);
	m = map();
	assert_int_equal(m->outside, 200);
	mw_map_free(m);
}

TEST(all_of_memory)
{
	unsigned long size, resident;
	struct mw_map *m;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &size, &resident), 2);
	fclose(f);
	block(at(0), 100, 1);
	m = map();
	/* the reading itself costs a few pages */
	assert_in_range(mw_map_seen(m), resident * page * 95 / 100, (resident + resident / 20 + 40) * page);
	assert_true(m->parts[MW_MAP_FILES] > 0);
	assert_true(m->parts[MW_MAP_STACKS] > 0);
	mw_map_free(m);
}

TEST(shares)
{
	uint64_t holds = 0, sum = 0;
	struct mw_map *m;

	block(at(0), page / 4, 1);
	block(at(0) + page / 2, page / 4, 2);
	block(at(2), page / 8, 3);
	block(at(4) + page / 2, page * 2, 9); /* half of page 4, all of 5, which is absent, half of 6 */
	m = map();
	assert_int_equal(line(m, "b.rb:2")->holds, page / 2);
	assert_int_equal(line(m, "b.rb:2")->alone, 0);
	assert_int_equal(line(m, "c.rb:3")->holds, page);
	assert_int_equal(line(m, "c.rb:3")->alone, page);
	/* both ids of a location are one line */
	assert_int_equal(line(m, "a.rb:1")->holds, page / 2 + 2 * page);
	assert_int_equal(line(m, "a.rb:1")->alone, 2 * page);
	assert_int_equal(line(m, "a.rb:1")->blocks, 2);
	assert_ptr_equal(&m->lines[0], line(m, "a.rb:1"));
	for (uint32_t i = 0; i < m->n_lines; i++)
		holds += m->lines[i].holds;
	assert_int_equal(holds, m->parts[MW_MAP_LIVE] + m->parts[MW_MAP_HOLES]);
	mw_map_free(m);
	/* a thousand random blocks: the shares add up to the pages */
	n_blocks = 0;
	srand(1);
	for (uintptr_t a = area; a < at(PAGES) - 5000 && n_blocks < BLOCKS;) {
		size_t size = (size_t)(rand() % 900);

		block(a, size, (uint32_t)(1 + rand() % 3));
		a += size + 16 + (uintptr_t)(rand() % 8 ? 0 : rand() % 20000);
	}
	m = map();
	for (uint32_t i = 0; i < m->n_lines; i++)
		sum += m->lines[i].holds;
	assert_in_range(sum, m->parts[MW_MAP_LIVE] + m->parts[MW_MAP_HOLES] - 3 - n_blocks / 100,
			m->parts[MW_MAP_LIVE] + m->parts[MW_MAP_HOLES] + 3 + n_blocks / 100);
	mw_map_free(m);
}

TEST(what_if)
{
	static const uint32_t a[] = { 1, 9 }, all[] = { 1, 2, 3, 9 };
	struct mw_map_whatif w;
	struct mw_map *m;

	block(at(0), 100, 1);
	block(at(0) + 200, 100, 2);
	block(at(2), 100, 1);
	block(at(4), 100, 9);
	block(at(6), 100, 3);
	m = map();
	assert_true(mw_map_whatif(&api, a, 2, &w));
	assert_int_equal(w.blocks, 3);
	assert_int_equal(w.bytes, 300);
	assert_int_equal(w.empty_now, m->trim.bytes);
	assert_int_equal(w.empty_now, (PAGES / 2 - 4) * page);
	assert_int_equal(w.empty_then, w.empty_now + 2 * page);
	assert_true(mw_map_whatif(&api, all, 4, &w));
	assert_int_equal(w.empty_then, PAGES / 2 * page);
	assert_true(mw_map_whatif(&api, NULL, 0, &w));
	assert_int_equal(w.empty_then, w.empty_now);
	mw_map_free(m);
}

struct seen {
	uint8_t in[PAGES];
};

static void see(void *ctx, uintptr_t start, uintptr_t stop, unsigned flags)
{
	struct seen *s = ctx;

	for (; start < stop; start += page)
		s->in[(start - area) / page] = (flags & MW_PAGE_PRESENT) != 0;
}

/* The kernel's three ways to tell say the same. */
TEST(residency)
{
	static const enum mw_residency_how ways[] = { MW_RESIDENCY_MINCORE, MW_RESIDENCY_PAGEMAP,
						      MW_RESIDENCY_SCAN };

	madvise((void *)at(40), 20 * page, MADV_DONTNEED);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct mw_residency r;
		struct seen s = { { 0 } };

		mw_residency_open(&r, ways[i]);
		assert_true(r.how <= ways[i]);
		mw_residency_each(&r, area, at(PAGES), true, see, &s);
		mw_residency_close(&r);
		for (size_t p = 0; p < PAGES; p++)
			assert_int_equal(s.in[p], p % 2 == 0 && (p < 40 || p >= 60));
	}
}

TEST(lit)
{
	static const uint32_t ids[] = { 1, 9 };
	struct mw_map_page *look = malloc(sizeof(*look));
	struct mw_map *m;
	uint8_t *bits;
	uint32_t n = 0;

	block(at(10) + 100, 2 * page, 1); /* in 10, 11 and 12 */
	block(at(20), 10, 9);
	block(at(10), 50, 2);
	m = map();
	bits = calloc(1, (m->n_cells + 7) / 8);
	assert_true(mw_map_light(m, &api, ids, 2, bits));
	for (uint32_t i = 0; i < m->n_cells; i++)
		n += bits[i / 8] >> i % 8 & 1;
	assert_int_equal(n, 4);
	n = (uint32_t)mw_map_cell_of(m, at(20));
	assert_true(bits[n / 8] >> n % 8 & 1);
	assert_int_equal(m->line[n], 1 + (line(m, "a.rb:1") - m->lines));
	free(bits);
	mw_map_look(&api, at(10) + 77, look);
	assert_int_equal(look->page, at(10));
	assert_int_equal(look->n, 2);
	assert_int_equal(look->v[0].addr, at(10));
	assert_int_equal(look->live, 50 + page - 100);
	mw_map_look(&api, at(11), look);
	assert_int_equal(look->n, 1);
	assert_int_equal(look->live, page);
	mw_map_look(&api, at(13), look);
	assert_int_equal(look->n, 0);
	mw_map_free(m);
	free(look);
}

TEST(tiles)
{
	uint8_t *to = malloc(2 * MW_MAP_TILE);
	struct mw_map m = { .n_cells = 70000 };
	uint32_t n;

	m.fill = calloc(1, m.n_cells);
	m.line = calloc(1, m.n_cells);
	for (uint32_t i = 0; i < m.n_cells; i++) {
		m.fill[i] = i % 4 == 3 ? MW_MAP_IS_ABSENT :
			    i % 8 < 4  ? MW_MAP_IS_USED + 10 :
					 MW_MAP_IS_EMPTY;
		m.line[i] = i % 8 < 4 ? (i % 4 == 0 ? 7 : 5) : 0;
	}
	assert_int_equal(mw_map_levels(&m), 2);
	assert_int_equal(mw_map_tile(&m, 0, 0, to), MW_MAP_TILE);
	assert_memory_equal(to, m.fill, MW_MAP_TILE);
	assert_memory_equal(to + MW_MAP_TILE, m.line, MW_MAP_TILE);
	n = mw_map_tile(&m, 0, 1, to);
	assert_int_equal(n, 70000 - MW_MAP_TILE);
	assert_memory_equal(to + n, m.line + MW_MAP_TILE, n);
	n = mw_map_tile(&m, 1, 0, to);
	assert_int_equal(n, 17500);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(to[i], i % 2 ? MW_MAP_IS_EMPTY : MW_MAP_IS_USED + 10);
		assert_int_equal(to[n + i], i % 2 ? 0 : 5);
	}
	assert_int_equal(mw_map_tile(&m, 0, 2, to), 0);
	assert_int_equal(mw_map_tile(&m, 2, 0, to), 0);
	assert_int_equal(mw_map_tile(&m, 1, 1, to), 0);
	free(m.fill);
	free(m.line);
	free(to);
}

TEST(stored)
{
	struct mw_maps s = { 0 };
	uint32_t first, last = 0;

	block(at(0), 10, 1);
	first = mw_maps_keep(&s, map(), 10);
	assert_non_null(mw_maps_find(&s, first));
	assert_ptr_equal(mw_maps_newest(&s, 12, 5), mw_maps_find(&s, first));
	assert_null(mw_maps_newest(&s, 15, 5));
	for (int i = 0; i < MW_MAPS; i++)
		last = mw_maps_keep(&s, map(), 20 + i);
	assert_null(mw_maps_find(&s, first));
	assert_ptr_equal(mw_maps_newest(&s, 24, 5), mw_maps_find(&s, last));
	mw_maps_age(&s);
	assert_null(mw_maps_newest(&s, 24, 5));
	assert_non_null(mw_maps_find(&s, last));
	last = mw_maps_keep(&s, map(), 24);
	assert_ptr_equal(mw_maps_newest(&s, 24, 5), mw_maps_find(&s, last));
	mw_maps_tidy(&s, 21 + MW_MAPS_SECONDS, false);
	assert_null(mw_maps_find(&s, first + 2));
	assert_non_null(mw_maps_find(&s, last));
	mw_maps_tidy(&s, 0, true);
	assert_null(mw_maps_find(&s, last));
	assert_null(mw_maps_newest(&s, 0, 5));
}
