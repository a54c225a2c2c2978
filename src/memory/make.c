/* SPDX-License-Identifier: GPL-2.0-or-later */
/* make.c - a map, from the mappings to the cells. See map.h. */
#include "make.h"

#include <string.h>

#include "shared/sys/clock.h"
#include "shared/sys/maps.h"
#include "shared/sys/residency.h"

/* To see whether pages are shared after a fork: so many of each area, and areas. */
enum { SAMPLE = 256, SAMPLES = 256 };
/* CPU time for the search of pages in memory */
#define SEARCH_NS UINT64_C(200000000)
/*
 * If the kernel must be asked page by page, what is absent takes time, too. Larger mappings come last, so that a
 * reservation of terabytes doesn't use up the budget ...
 */
#define LARGE ((uintptr_t)64 << 20)
/* ... and if they are more than this, the kernel says first which of them have anything in memory. */
#define MANY ((uint64_t)1 << 30)
#define TURN ((uint64_t)1 << 18) /* pages: the first time that a large mapping is searched */

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
		"ends of arenas", "unknown blocks",           "Ruby\xe2\x80\x99s heap pages",
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

static void see_pages(void *ctx, uintptr_t start, uintptr_t end, unsigned flags)
{
	struct scan *s = ctx;
	struct mw_map_making *k = s->k;
	uintptr_t at = start;
	struct mw_map_entry *e;
	uint64_t bytes;

	if (!mw_map_may_hold(s->area->kind))
		at = end;
	for (; at < end && (e = mw_map_pages_add(&k->pages, at)); at += k->map->page)
		e->flags = (uint16_t)(flags | MW_ENTRY_KNOWN);
	k->map->left_out += end - at;
	bytes = at - start;
	if (flags & MW_PAGE_PRESENT) {
		s->area->resident += bytes;
		k->map->shared += flags & MW_PAGE_SHARED ? bytes : 0;
		k->map->huge += flags & MW_PAGE_HUGE ? bytes : 0;
	} else {
		k->map->swapped += bytes;
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

static bool is_large(const struct mw_map_area *a)
{
	return a->end - a->start > LARGE;
}

/* Notes what of a large mapping is in memory or swapped out. */
static void note_kept(const struct mw_maps_line *l, uint64_t kept, void *ctx)
{
	struct mw_map_area v = { .start = l->start, .end = l->end, .resident = kept };

	if (is_large(&v))
		mw_map_areas_push(ctx, v);
}

/* Searches an area, or goes on with it. kept: what the kernel says of large mappings, if it was asked. */
static void search_area(struct mw_map_making *k, struct mw_residency *r, struct mw_map_area *a,
			const struct mw_map_areas *kept)
{
	struct mw_map_area *in = mw_map_area_at(kept, a->start);
	struct scan s = { .k = k, .area = a };

	r->expected = in ? in->resident : UINT64_MAX;
	a->searched = mw_residency_each(r, a->searched, a->end, a->kind != MW_AREA_FILE, see_pages, &s);
	if (in)
		in->resident = r->expected;
}

/* Each large area gets its turn, and then a longer one: so none of them has the whole budget. */
static void search_large(struct mw_map_making *k, struct mw_residency *r, const struct mw_map_areas *kept)
{
	uint64_t left = r->budget;
	bool any = true;

	for (uint64_t turn = TURN; any; turn *= 4) {
		any = false;
		for (size_t i = 0; i < k->areas.n; i++) {
			struct mw_map_area *a = &k->areas.v[i];
			uint64_t pages = left < turn ? left : turn;

			if (!is_large(a) || a->searched == a->end)
				continue;
			r->budget = pages;
			search_area(k, r, a, kept);
			left -= pages - r->budget;
			any |= a->searched < a->end && left && !r->late;
		}
	}
}

static void scan(struct mw_map_making *k, enum mw_residency_how best)
{
	struct mw_map_areas kept = { 0 };
	struct mw_residency r;
	uint64_t large = 0;

	mw_residency_open(&r, best);
	r.until = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) + SEARCH_NS;
	r.sharing = shares_memory(k, &r);
	for (size_t i = 0; i < k->areas.n; i++) {
		struct mw_map_area *a = &k->areas.v[i];

		a->searched = a->start;
		if (is_large(a))
			large += a->end - a->start;
		else
			search_area(k, &r, a, &kept);
	}
	if (large > MANY && r.how != MW_RESIDENCY_SCAN)
		mw_smaps_each(note_kept, &kept);
	search_large(k, &r, &kept);
	for (size_t i = 0; i < k->areas.n; i++)
		k->map->unsearched += k->areas.v[i].end - k->areas.v[i].searched;
	k->map->unsearched += k->areas.dropped;
	mw_map_areas_free(&kept);
	mw_residency_close(&r);
	mw_map_pages_sort(&k->pages);
}

/* --- all of it --------------------------------------------------------------------------------- */

static bool begin_making(struct mw_map_making *k, const struct mw_api *api, enum mw_residency_how best)
{
	const char *name = api->allocator ? api->allocator() : "";
	bool glibc = !strcmp(name, "glibc");

	k->map->allocator = name;
	if (!mw_map_pages_make(&k->pages) || !mw_map_areas_make(&k->areas, api))
		return false;
	k->map->page = (size_t)1 << k->pages.shift;
	scan(k, best);
	if (!mw_map_areas_split(&k->areas, &k->pages, glibc))
		return false;
	k->walk =
		(struct mw_map_walk){ .api = api, .areas = &k->areas, .pages = &k->pages, .glibc = glibc };
	return true;
}

static void end_making(struct mw_map_making *k)
{
	mw_map_memory_free(k->walk.sums, k->walk.ids * sizeof(*k->walk.sums));
	mw_map_memory_free(k->colours, k->walk.ids);
	mw_map_areas_free(&k->areas);
	mw_map_pages_free(&k->pages);
}

static void fill_in_blocks(struct mw_map_making *k)
{
	struct mw_stats stats;

	k->walk.api->stats(&stats);
	k->map->missing = stats.missing;
	mw_map_fill(&k->walk);
}

static bool make_map_parts(struct mw_map_making *k)
{
	fill_in_blocks(k);
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
	if (!api->each_live || !begin_making(&k, api, MW_RESIDENCY_SCAN) || !make_map_parts(&k)) {
		mw_map_free(k.map);
		k.map = NULL;
	}
	end_making(&k);
	if (k.map)
		k.map->ns = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	return k.map;
}

bool mw_map_heap(const struct mw_api *api, uint64_t *heap, uint64_t *live)
{
	struct mw_map_making k = { .map = mw_map_memory(sizeof(*k.map)) };
	const uint64_t *parts;
	bool ok = k.map && api->each_live && begin_making(&k, api, MW_RESIDENCY_SCAN);

	if (ok) {
		fill_in_blocks(&k);
		mw_map_sum_areas(&k);
		parts = k.map->parts;
		*heap = parts[MW_MAP_LIVE] + parts[MW_MAP_HOLES] + parts[MW_MAP_EMPTY] +
			parts[MW_MAP_ENDS] + parts[MW_MAP_UNKNOWN];
		*live = k.walk.live_bytes;
	}
	mw_map_free(k.map);
	end_making(&k);
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
	ok = bits && api->each_live && begin_making(&k, api, MW_RESIDENCY_SCAN);
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
		to->left_out = map.left_out;
	}
	end_making(&k);
	mw_map_memory_free(bits, most / 8 + 1);
	return ok;
}
