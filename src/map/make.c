/* SPDX-License-Identifier: GPL-2.0-or-later */
/* make.c - a map, from the mappings to the cells. See map.h. */
#include "make.h"

#include <string.h>

#include "base/clock.h"
#include "base/maps.h"
#include "residency.h"

/* To see whether pages are shared after a fork: so many of each area, and areas. */
enum { SAMPLE = 256, SAMPLES = 256 };
/* If the kernel must be asked page by page: memory without access is searched up to here ... */
#define SEARCH_MAX ((uintptr_t)64 << 20)
/* ... and larger mappings come last, so that a reservation of terabytes doesn't use up the budget. */
#define LARGE ((uintptr_t)1 << 30)

const char *mw_map_part_name(enum mw_map_part p)
{
	static const char *const names[] = { "live", "holes",  "empty", "ends",  "unknown",
					     "ruby", "stacks", "files", "mwrap", "other" };

	return names[p];
}

const char *mw_map_part_title(enum mw_map_part p)
{
	static const char *const titles[] = {
		"live blocks",    "holes beside live blocks", "empty pages",
		"ends of arenas", "from before the start",    "Ruby\xe2\x80\x99s heap pages",
		"stacks",         "libraries and files",      "mwrap",
		"other memory"
	};

	return titles[p];
}

uint64_t mw_map_seen(const struct mw_map *m)
{
	uint64_t sum = 0;

	for (int p = 0; p < MW_MAP_PARTS_N; p++)
		sum += m->parts[p];
	return sum;
}

/* --- which pages are in memory -------------------------------------------------------------- */

struct scan {
	struct mw_map_making *k;
	struct mw_map_area *area;
	bool shared; /* found by a sample */
};

static void see(void *ctx, uintptr_t start, uintptr_t end, unsigned flags)
{
	struct scan *s = ctx;
	struct mw_map_making *k = s->k;
	uint64_t bytes = end - start;

	if (flags & MW_PAGE_PRESENT) {
		s->area->resident += bytes;
		k->map->shared += flags & MW_PAGE_SHARED ? bytes : 0;
		k->map->huge += flags & MW_PAGE_HUGE ? bytes : 0;
	} else {
		k->map->swapped += bytes;
	}
	if (!mw_map_may_hold(s->area->kind))
		return;
	for (; start < end; start += k->map->page) {
		struct mw_map_entry *e = mw_map_pages_add(&k->pages, start);

		if (e)
			e->flags = (uint16_t)(flags | MW_ENTRY_KNOWN);
	}
}

static void see_shared(void *ctx, uintptr_t start, uintptr_t end, unsigned flags)
{
	(void)start;
	(void)end;
	((struct scan *)ctx)->shared |= flags & MW_PAGE_SHARED;
}

/* After a fork the allocator's memory has pages that neither process wrote to. */
static bool shares_memory(struct mw_map_making *k, struct mw_residency *r)
{
	struct mw_residency by_page = *r;
	struct scan s = { .k = k };
	int samples = 0;

	by_page.how = MW_RESIDENCY_PAGEMAP;
	for (size_t i = 0; i < k->areas.n && r->how != MW_RESIDENCY_MINCORE && !s.shared; i++) {
		const struct mw_map_area *a = &k->areas.v[i];
		uintptr_t most = SAMPLE * r->page,
			  end = a->end - a->start < most ? a->end : a->start + most;

		if (mw_map_may_hold(a->kind) && samples++ < SAMPLES)
			mw_residency_each(&by_page, a->start, end, true, see_shared, &s);
	}
	return s.shared;
}

static void scan_areas(struct mw_map_making *k, struct mw_residency *r, bool large)
{
	for (size_t i = 0; i < k->areas.n; i++) {
		struct mw_map_area *a = &k->areas.v[i];
		struct scan s = { .k = k, .area = a };

		if ((a->end - a->start > LARGE) != large ||
		    (a->kind == MW_AREA_NONE && a->end - a->start > SEARCH_MAX &&
		     r->how != MW_RESIDENCY_SCAN))
			continue;
		mw_residency_each(r, a->start, a->end, a->kind != MW_AREA_FILE, see, &s);
	}
}

static void scan(struct mw_map_making *k, enum mw_residency_how best)
{
	struct mw_residency r;

	mw_residency_open(&r, best);
	r.sharing = shares_memory(k, &r);
	scan_areas(k, &r, false);
	scan_areas(k, &r, true);
	k->map->cut |= !r.budget;
	mw_residency_close(&r);
}

/* --- all of it --------------------------------------------------------------------------------- */

static bool begin(struct mw_map_making *k, const struct mw_api *api, enum mw_residency_how best)
{
	const char *name = api->allocator ? api->allocator() : "";
	bool glibc = !strcmp(name, "glibc");

	k->map->allocator = name;
	if (!mw_map_pages_make(&k->pages) || !mw_map_areas_make(&k->areas, api, glibc))
		return false;
	k->map->page = (size_t)1 << k->pages.shift;
	scan(k, best);
	k->walk =
		(struct mw_map_walk){ .api = api, .areas = &k->areas, .pages = &k->pages, .glibc = glibc };
	return !k->pages.failed;
}

static void end(struct mw_map_making *k)
{
	mw_map_memory_free(k->walk.sums, k->walk.ids * sizeof(*k->walk.sums));
	mw_map_memory_free(k->colours, k->walk.ids);
	mw_map_areas_free(&k->areas);
	mw_map_pages_free(&k->pages);
}

static void fill(struct mw_map_making *k)
{
	struct mw_stats stats;

	k->walk.api->stats(&stats);
	k->map->late = strcmp(stats.how, "preload") != 0;
	mw_map_fill(&k->walk);
}

static bool make(struct mw_map_making *k)
{
	fill(k);
	k->walk.sums = mw_map_memory(k->walk.ids * sizeof(*k->walk.sums));
	if (!k->walk.sums)
		return false;
	mw_map_share(&k->walk);
	k->map->live = k->walk.live;
	k->map->live_bytes = k->walk.live_bytes;
	k->map->outside = k->walk.outside;
	mw_map_sum_areas(k);
	mw_map_find_mappings(k);
	return mw_map_lines(k) && mw_map_cells(k);
}

struct mw_map *mw_map_make(const struct mw_api *api, uint64_t rss, const struct mw_map_ruby *ruby)
{
	uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct mw_map_making k = { .map = mw_map_memory(sizeof(*k.map)) };

	if (!k.map)
		return NULL;
	k.map->rss = rss;
	k.ruby = ruby;
	for (size_t i = 0; ruby && i < ruby->n; i++) {
		k.map->ruby_known = true;
		k.map->ruby_slots += ruby->v[i].end - ruby->v[i].start;
		k.map->ruby_used += ruby->v[i].used;
	}
	if (!api->each_live || !begin(&k, api, MW_RESIDENCY_SCAN) || !make(&k)) {
		mw_map_free(k.map);
		k.map = NULL;
	}
	end(&k);
	if (k.map)
		k.map->ns = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	return k.map;
}

bool mw_map_heap(const struct mw_api *api, uint64_t *heap, uint64_t *live)
{
	struct mw_map_making k = { .map = mw_map_memory(sizeof(*k.map)) };
	const uint64_t *parts;
	bool ok = k.map && api->each_live && begin(&k, api, MW_RESIDENCY_SCAN);

	if (ok) {
		fill(&k);
		mw_map_sum_areas(&k);
		parts = k.map->parts;
		*heap = parts[MW_MAP_LIVE] + parts[MW_MAP_HOLES] + parts[MW_MAP_EMPTY] +
			parts[MW_MAP_ENDS] + parts[MW_MAP_UNKNOWN];
		*live = k.walk.live_bytes;
	}
	mw_map_free(k.map);
	end(&k);
	return ok;
}

void mw_map_free(struct mw_map *m)
{
	if (!m)
		return;
	mw_map_memory_free(m->fill, m->bytes[0]);
	mw_map_memory_free(m->line, m->bytes[1]);
	mw_map_memory_free(m->panels, m->bytes[2]);
	mw_map_memory_free(m->spans, m->bytes[3]);
	mw_map_memory_free(m->lines, m->bytes[4]);
	mw_map_memory_free(m->texts, m->bytes[5]);
	mw_map_memory_free(m, sizeof(*m));
}

bool mw_map_whatif(const struct mw_api *api, const uint32_t *ids, size_t n, struct mw_map_whatif *to)
{
	struct mw_map map = { 0 };
	struct mw_map_making k = { .map = &map };
	uint32_t most = 0;
	uint8_t *bits;
	bool ok;

	*to = (struct mw_map_whatif){ 0 };
	for (size_t i = 0; i < n; i++)
		most = ids[i] > most ? ids[i] : most;
	bits = mw_map_memory(most / 8 + 1);
	ok = bits && api->each_live && begin(&k, api, MW_RESIDENCY_SCAN);
	if (ok) {
		for (size_t i = 0; i < n; i++)
			bits[ids[i] / 8] |= (uint8_t)(1 << ids[i] % 8);
		k.walk.chosen = bits;
		k.walk.chosen_n = most + 1;
		mw_map_fill(&k.walk);
		mw_map_sum_areas(&k);
		to->blocks = k.walk.chosen_blocks;
		to->bytes = k.walk.chosen_bytes;
		to->empty_now = map.trim.bytes;
		to->empty_then = k.empty_then;
		to->unmapped = k.unmapped_then;
	}
	end(&k);
	mw_map_memory_free(bits, most / 8 + 1);
	return ok;
}
