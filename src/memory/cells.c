/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cells.c - panels, their spans, and a cell for each page. See make.h. */
#include <string.h>

#include "make.h"
#include "shared/sys/residency.h"

const char *mw_map_panel_name(enum mw_map_panel_kind kind)
{
	static const char *const names[] = { "main", "arena", "blocks", "allocator", "ruby", "other" };

	return names[kind];
}

enum { ARENAS_MAX = 4096 }; /* glibc has eight for each core, unless it is told otherwise */

/* A panel under way; its areas are those with its number. */
struct making {
	struct mw_map_making *k;
	uint32_t n_spans, n_cells; /* so far */
	bool count; /* count only: there is no memory for them yet */
	bool absent; /* rows of arenas with nothing in memory are drawn, too */
};

/* --- which panel an area is in --------------------------------------------------------------- */

static enum mw_map_panel_kind panel_kind_of(const struct mw_map_making *k, const struct mw_map_area *a)
{
	switch (a->kind) {
	case MW_AREA_HEAP:
		return k->walk.glibc ? MW_PANEL_MAIN : MW_PANEL_ALLOCATOR;
	case MW_AREA_ARENA:
		return MW_PANEL_ARENA;
	case MW_AREA_RUBY:
		return MW_PANEL_RUBY;
	default:
		return !a->live ? MW_PANEL_OTHER : k->walk.glibc ? MW_PANEL_BLOCKS : MW_PANEL_ALLOCATOR;
	}
}

static bool is_drawn(const struct mw_map_area *a)
{
	return mw_map_may_hold(a->kind) && !(a->guarded && !a->live);
}

/* One of n panels that aren't sorted yet: an arena's has its place in `arenas` as its span, so far. NULL: none. */
static struct mw_map_panel *panel_of(const struct mw_map_making *k, uint32_t n, const struct mw_map_area *a)
{
	enum mw_map_panel_kind kind = panel_kind_of(k, a);

	for (struct mw_map_panel *p = k->map->panels; p < k->map->panels + n; p++)
		if (p->kind == kind && (kind != MW_PANEL_ARENA || k->arenas[p->span] == a->arena))
			return p;
	return NULL;
}

static void choose_panels(struct mw_map_making *k, uint32_t n)
{
	for (size_t i = 0; i < k->areas.n; i++) {
		struct mw_map_area *a = &k->areas.v[i];
		struct mw_map_panel *p = is_drawn(a) ? panel_of(k, n, a) : NULL;

		if (is_drawn(a) && !p)
			k->map->undrawn += a->end - a->start;
		a->panel = p ? p->number : 0;
		if (!p)
			continue;
		p->resident += a->resident;
		p->live += a->live;
	}
}

/* Notes each arena once. False: no memory. */
static bool find_arenas(struct mw_map_making *k)
{
	k->arenas = mw_map_memory((k->areas.n + 1) * sizeof(*k->arenas));
	if (!k->arenas)
		return false;
	for (size_t i = 0; i < k->areas.n; i++) {
		uintptr_t arena = k->areas.v[i].arena;
		uint32_t at = 0;

		if (k->areas.v[i].kind != MW_AREA_ARENA)
			continue;
		while (at < k->n_arenas && k->arenas[at] != arena)
			at++;
		if (at == k->n_arenas && at < ARENAS_MAX)
			k->arenas[k->n_arenas++] = arena;
	}
	return true;
}

/* The panels with anything in memory: the main arena, the others by what is in memory, the rest. */
static bool find_panels(struct mw_map_making *k)
{
	static const enum mw_map_panel_kind rest[] = { MW_PANEL_BLOCKS, MW_PANEL_ALLOCATOR,
						       MW_PANEL_RUBY, MW_PANEL_OTHER };
	struct mw_map *m = k->map;
	uint32_t n = 0, arenas;

	if (!find_arenas(k))
		return false;
	m->bytes[2] = (k->n_arenas + 5) * sizeof(*m->panels);
	m->panels = mw_map_memory(m->bytes[2]);
	if (!m->panels)
		return false;
	m->panels[n++].kind = MW_PANEL_MAIN;
	for (arenas = 0; arenas < k->n_arenas; arenas++)
		m->panels[n++] = (struct mw_map_panel){ .kind = MW_PANEL_ARENA, .span = arenas };
	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++)
		m->panels[n++].kind = rest[i];
	for (uint32_t p = 0; p < n; p++)
		m->panels[p].number = p + 1;
	choose_panels(k, n);
	/* few arenas: by insertion */
	for (uint32_t i = 2; i < 1 + arenas; i++)
		for (uint32_t j = i; j > 1 && m->panels[j].resident > m->panels[j - 1].resident; j--) {
			struct mw_map_panel t = m->panels[j];

			m->panels[j] = m->panels[j - 1];
			m->panels[j - 1] = t;
		}
	for (uint32_t i = 0; i < n; i++)
		if (m->panels[i].resident)
			m->panels[m->n_panels++] = m->panels[i];
	return true;
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Of MW_MAP_IS_FILL: what objects fill of the heap page at `at`; -1: not known. */
static int ruby_fill(const struct mw_map_making *k, uintptr_t at)
{
	const struct mw_map_ruby *r = k->ruby;
	uintptr_t last = at + k->map->page - 1;
	size_t low = 0, high = r ? r->n : 0;

	while (low < high) { /* the first one that begins behind it */
		size_t middle = low + (high - low) / 2;

		if (r->v[middle].start <= last)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || r->v[low - 1].end <= at)
		return -1;
	return (int)(r->v[low - 1].used * MW_MAP_IS_FILL / (r->v[low - 1].end - r->v[low - 1].start));
}

static uint8_t fill_of(const struct mw_map_making *k, const struct mw_map_area *a, uintptr_t at,
		       const struct mw_map_entry *e)
{
	unsigned v = mw_map_cell_is(k, a, at, e);

	if (v == MW_MAP_IS_RUBY && ruby_fill(k, at) >= 0)
		v = MW_MAP_IS_USED + (unsigned)ruby_fill(k, at);
	else if (v == MW_MAP_IS_USED)
		v += (unsigned)(e->live * MW_MAP_IS_FILL / k->map->page);
	if (v != MW_MAP_IS_ABSENT && e->flags & MW_PAGE_SHARED)
		v |= MW_MAP_IS_SHARED;
	if (v != MW_MAP_IS_ABSENT && e->flags & MW_PAGE_HUGE)
		v |= MW_MAP_IS_HUGE;
	return (uint8_t)v;
}

static void draw_row(struct making *d, const struct mw_map_area *a, uintptr_t from, uintptr_t to,
		     bool goes_on)
{
	struct mw_map *m = d->k->map;
	uint32_t pages = (uint32_t)((to - from) / m->page);

	if (!d->count) {
		if (goes_on)
			m->spans[d->n_spans - 1].pages += pages;
		else
			m->spans[d->n_spans] =
				(struct mw_map_span){ .start = from, .cell = d->n_cells, .pages = pages };
		for (uint32_t i = 0; i < pages; i++) {
			uintptr_t at = from + i * m->page;
			const struct mw_map_entry *e = mw_map_entry(&d->k->pages, at);

			m->fill[d->n_cells + i] = fill_of(d->k, a, at, e);
			if (e && e->live)
				m->line[d->n_cells + i] =
					e->line < d->k->walk.ids ? d->k->colours[e->line] :
								   MW_MAP_COLOURS + 1;
		}
	}
	d->n_spans += !goes_on;
	d->n_cells += pages;
}

/*
 * A row of pages that is empty of memory isn't drawn, but in an arena: there it says what was given back. Address
 * space that is only reserved, such as AddressSanitizer's, may be terabytes: it is skipped in one step.
 */
static void draw_area(struct making *d, const struct mw_map_area *a)
{
	const uintptr_t row = MW_MAP_ROW * d->k->map->page;
	bool all = d->absent && d->k->walk.glibc && (a->kind == MW_AREA_HEAP || a->kind == MW_AREA_ARENA);
	uintptr_t next = a->start, at, end, last = a->start;

	for (at = a->start; at < a->end; at = end) {
		if (!all && !mw_map_pages_next(&d->k->pages, &next, a->end))
			return;
		if (!all)
			at = a->start + (next - a->start) / row * row;
		end = a->end - at < row ? a->end : at + row;
		if (d->n_cells > MW_MAP_CELLS_MAX - MW_MAP_ROW) {
			d->k->map->undrawn += d->count ? a->end - at : 0;
			return;
		}
		draw_row(d, a, at, end, at == last && at > a->start);
		last = next = end;
	}
}

static void draw(struct making *d)
{
	struct mw_map *m = d->k->map;

	for (uint32_t p = 0; p < m->n_panels; p++) {
		struct mw_map_panel *panel = &m->panels[p];
		uint32_t cell = d->n_cells, span = d->n_spans;

		for (size_t i = 0; i < d->k->areas.n; i++)
			if (d->k->areas.v[i].panel == panel->number)
				draw_area(d, &d->k->areas.v[i]);
		if (!d->count) {
			panel->number = panel->kind == MW_PANEL_ARENA ? ++d->k->numbered : 0;
			panel->cell = cell;
			panel->cells = d->n_cells - cell;
			panel->span = span;
			panel->spans = d->n_spans - span;
		}
		d->n_cells = (d->n_cells + MW_MAP_ROW - 1) / MW_MAP_ROW * MW_MAP_ROW;
	}
}

/* Arenas are drawn with all their address space, unless there is more of it than that. */
static bool absent_rows_fit(const struct mw_map_making *k)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < k->areas.n; i++)
		if (k->areas.v[i].kind == MW_AREA_HEAP || k->areas.v[i].kind == MW_AREA_ARENA)
			pages += (k->areas.v[i].end - k->areas.v[i].start) / k->map->page;
	return pages <= MW_MAP_CELLS_MAX / 2;
}

bool mw_map_cells(struct mw_map_making *k)
{
	struct making counting = { .k = k, .count = true, .absent = absent_rows_fit(k) };
	struct making drawing = { .k = k, .absent = counting.absent };
	struct mw_map *m = k->map;
	bool ok = false;

	if (find_panels(k)) {
		draw(&counting);
		m->n_cells = counting.n_cells;
		m->n_spans = counting.n_spans;
		m->bytes[0] = m->bytes[1] = m->n_cells;
		m->bytes[3] = m->n_spans * sizeof(*m->spans);
		m->fill = mw_map_memory(m->bytes[0]);
		m->line = mw_map_memory(m->bytes[1]);
		m->spans = mw_map_memory(m->bytes[3]);
		ok = m->fill && m->line && m->spans;
	}
	if (ok)
		draw(&drawing);
	mw_map_memory_free(k->arenas, (k->areas.n + 1) * sizeof(*k->arenas));
	k->arenas = NULL;
	return ok;
}
