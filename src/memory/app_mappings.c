/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_mappings.c - the resident part of the application's own mappings. See make.h. */
#include "make.h"

/* Bytes of other memory in [start, end), which lies in one area. */
static uint64_t other_in(const struct mw_map_making *k, const struct mw_map_area *a, uintptr_t start,
			 uintptr_t end)
{
	const uintptr_t page = k->map->page;
	const struct mw_map_entry *e;
	uint64_t sum = 0;

	for (; (e = mw_map_pages_next(&k->pages, &start, end)); start += page)
		sum += mw_map_cell_is(k, a, start, e) == MW_MAP_IS_OTHER ? page : 0;
	return sum;
}

static void add_to_mapping(struct mw_map_mapping *to, const struct mw_map_mapping *more)
{
	to->n += more->n;
	to->bytes += more->bytes;
	to->resident += more->resident;
	if (more->start < to->start)
		to->start = more->start;
}

static void take_tracked_mapping(uintptr_t start, size_t bytes, uint32_t id, void *ctx)
{
	struct mw_map_making *k = ctx;
	struct mw_map *m = k->map;
	struct mw_map_mapping v = { .start = start, .n = 1, .bytes = bytes, .id = id };
	uintptr_t end = (start + bytes + m->page - 1) & ~(m->page - 1);
	const struct mw_map_area *a = mw_map_area_from(&k->areas, start);
	uint32_t at;

	for (; a < k->areas.v + k->areas.n && a->start < end; a++)
		if (a->kind == MW_AREA_ANON && !a->guarded)
			v.resident += other_in(k, a, a->start > start ? a->start : start,
					       a->end < end ? a->end : end);
	if (!v.resident)
		return;
	for (at = 0; at < m->n_mappings && m->mappings[at].id != id; at++)
		;
	if (at < m->n_mappings)
		add_to_mapping(&v, &m->mappings[at]);
	else if (at < MW_MAP_MAPPINGS)
		m->n_mappings++;
	else if (v.resident <= m->mappings[--at].resident)
		return;
	for (; at && m->mappings[at - 1].resident < v.resident; at--)
		m->mappings[at] = m->mappings[at - 1];
	m->mappings[at] = v;
}

void mw_map_find_mappings(struct mw_map_making *k)
{
	if (k->walk.api->each_mapping)
		k->walk.api->each_mapping(take_tracked_mapping, k);
}
