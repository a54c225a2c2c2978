/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page_blocks.c - blocks by page, for a map that is there. See map.h. */
#include <string.h>
#include <unistd.h>

#include "memory/areas.h"
#include "memory/map.h"
#include "memory/pages.h"

/* --- cells of addresses: the spans by address -------------------------------------------------- */

static int64_t in_span(const struct mw_map *m, const struct mw_map_span *s, uintptr_t at)
{
	uintptr_t pages = (at - s->start) / m->page;

	return at >= s->start && pages < s->pages ? (int64_t)(s->cell + pages) : -1;
}

/* Within a panel spans are sorted by address: the number of the last one at or before `at`, or 0. */
static uint32_t span_before(const struct mw_map_span *s, uint32_t n, uintptr_t at)
{
	uint32_t low = 0, high = n;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (s[middle].start <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int64_t mw_map_cell_of(const struct mw_map *m, uintptr_t at)
{
	for (uint32_t p = 0; p < m->n_panels; p++) {
		const struct mw_map_span *s = m->spans + m->panels[p].span;
		uint32_t n = m->panels[p].spans;
		int64_t cell = n ? in_span(m, &s[span_before(s, n, at)], at) : -1;

		if (cell >= 0)
			return cell;
	}
	return -1;
}

/* --- a line's pages ------------------------------------------------------------------------------ */

struct light {
	const struct mw_map *m;
	const uint8_t *chosen;
	uint32_t ids;
	uint8_t *to;
};

/* The cells of a block, span by span: it may be far larger than what is drawn of it. */
static void light_in(const struct light *c, const struct mw_map_span *s, uint32_t n, uintptr_t from,
		     uintptr_t to)
{
	uintptr_t page = c->m->page;

	for (uint32_t i = span_before(s, n, from); i < n && s[i].start < to; i++)
		for (uintptr_t at = from > s[i].start ? from : s[i].start;
		     at < to && (at - s[i].start) / page < s[i].pages; at += page) {
			size_t cell = s[i].cell + (at - s[i].start) / page;

			c->to[cell / 8] |= (uint8_t)(1 << cell % 8);
		}
}

static void light(const struct mw_live *l, void *ctx)
{
	const struct light *c = ctx;
	const struct mw_map *m = c->m;

	if (l->id >= c->ids || !(c->chosen[l->id / 8] >> l->id % 8 & 1))
		return;
	for (uint32_t p = 0; p < m->n_panels; p++)
		light_in(c, m->spans + m->panels[p].span, m->panels[p].spans, l->addr & ~(m->page - 1),
			 mw_map_end(l));
}

bool mw_map_light(const struct mw_map *m, const struct mw_api *api, const uint32_t *ids, size_t n,
		  uint8_t *to)
{
	struct light c = { .m = m, .to = to, .ids = 1 };
	uint8_t *chosen;

	for (size_t i = 0; i < n; i++)
		c.ids = ids[i] >= c.ids ? ids[i] + 1 : c.ids;
	chosen = mw_map_memory(c.ids / 8 + 1);
	if (!chosen)
		return false;
	for (size_t i = 0; i < n; i++)
		chosen[ids[i] / 8] |= (uint8_t)(1 << ids[i] % 8);
	c.chosen = chosen;
	api->each_live(light, &c);
	mw_map_memory_free(chosen, c.ids / 8 + 1);
	return true;
}

/* --- one page --------------------------------------------------------------------------------------- */

struct look {
	struct mw_map_page *to;
	uintptr_t bytes;
};

static void look_at_block(const struct mw_live *l, void *ctx)
{
	struct look *c = ctx;
	struct mw_map_page *to = c->to;
	size_t within = mw_map_within(l->addr, mw_map_end(l), to->page, c->bytes);
	uint32_t at;

	if (!within)
		return;
	to->live += within;
	if (to->n == sizeof(to->v) / sizeof(*to->v)) {
		to->more++;
		return;
	}
	for (at = to->n++; at && to->v[at - 1].addr > l->addr; at--)
		to->v[at] = to->v[at - 1];
	to->v[at] = *l;
}

void mw_map_look(const struct mw_api *api, uintptr_t at, struct mw_map_page *to)
{
	struct look c = { .to = to, .bytes = (uintptr_t)sysconf(_SC_PAGESIZE) };

	to->page = at & ~(c.bytes - 1);
	to->live = 0;
	to->n = to->more = 0;
	api->each_live(look_at_block, &c);
}
