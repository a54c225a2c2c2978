/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map_json.c - a map for programs; see map.h. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "server/report/missing.h"
#include "map.h"

enum { LINES = 200, FEW = 5 };

void mw_map_trim_json(struct mw_buf *b, const struct mw_map_trim *t)
{
	mw_json_known(b, "bytes", t->bytes, t->known);
	mw_json_known(b, "least_bytes", t->least, t->known);
	if (t->known)
		mw_json_tenths(b, "milliseconds", (double)t->ns / 1e6);
	else
		mw_json_str(b, "milliseconds", NULL);
}

static void add_advice(void *ctx, const char *s)
{
	struct mw_buf *b = ctx;

	mw_json_str(b, b->n && b->p[b->n - 1] == '[' ? NULL : "\n", s);
}

static void words(struct mw_buf *b, const struct mw_map *m)
{
	struct mw_buf sentence = { 0 };

	mw_map_sentence(&sentence, m);
	mw_json_take(b, "\nsentence", &sentence);
	mw_json_open(b, "\nadvice", '[');
	mw_map_advice(m, add_advice, b);
	mw_buf_str(b, "]");
}

static void map_parts_json(struct mw_buf *b, const struct mw_map *m)
{
	mw_json_open(b, "\nparts", '[');
	for (int p = 0; p < MW_MAP_PARTS_N; p++) {
		mw_json_open(b, p ? "\n" : NULL, '{');
		mw_json_str(b, "name", mw_map_part_name((enum mw_map_part)p));
		mw_json_u64(b, "bytes", m->parts[p]);
		mw_json_str(b, "title", mw_map_part_title((enum mw_map_part)p));
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

static void panel(struct mw_buf *b, const struct mw_map *m, const struct mw_map_panel *p)
{
	char name[48];

	mw_map_panel_title(p, m, name);
	mw_json_open(b, "\n", '{');
	mw_json_str(b, "name", name);
	mw_json_str(b, "kind", mw_map_panel_name(p->kind));
	mw_json_u64(b, "cell", p->cell);
	mw_json_u64(b, "cells", p->cells);
	mw_json_u64(b, "resident_bytes", p->resident);
	mw_json_u64(b, "live_bytes", p->live);
	mw_json_open(b, "spans", '[');
	for (uint32_t i = 0; i < p->spans; i++) {
		const struct mw_map_span *s = &m->spans[p->span + i];

		mw_json_open(b, NULL, '[');
		mw_json_address(b, NULL, s->start);
		mw_json_u64(b, NULL, s->cell);
		mw_json_u64(b, NULL, s->pages);
		mw_buf_str(b, "]");
	}
	mw_buf_str(b, "]}");
}

static void map_line_json(struct mw_buf *b, const struct mw_map_line *l, uint32_t i)
{
	mw_json_open(b, "\n", '{');
	mw_json_text(b, "location", l->location, l->location_len);
	mw_json_u64(b, "live_bytes", l->bytes);
	mw_json_u64(b, "blocks", l->blocks);
	mw_json_u64(b, "holds_bytes", l->holds);
	mw_json_u64(b, "alone_bytes", l->alone);
	mw_json_u64(b, "colour", i < MW_MAP_COLOURS ? i + 1 : 0);
	mw_buf_str(b, "}");
}

static void mapping(struct mw_buf *b, const struct mw_map_mapping *p)
{
	mw_json_open(b, "\n", '{');
	mw_json_address(b, "from", p->start);
	mw_json_u64(b, "mappings", p->n);
	mw_json_u64(b, "bytes", p->bytes);
	mw_json_u64(b, "resident_bytes", p->resident);
	mw_json_text(b, "location", p->location, p->location_len);
	mw_buf_str(b, "}");
}

static void map_lines_json(struct mw_buf *b, const struct mw_map *m, uint32_t most)
{
	mw_json_open(b, "\nlines", '[');
	for (uint32_t i = 0; i < m->n_lines && i < most; i++)
		map_line_json(b, &m->lines[i], i);
	mw_buf_str(b, "]");
}

static void mappings(struct mw_buf *b, const struct mw_map *m, uint32_t most)
{
	mw_json_open(b, "\nmappings", '[');
	for (uint32_t i = 0; i < m->n_mappings && i < most; i++)
		mapping(b, &m->mappings[i]);
	mw_buf_str(b, "]");
}

void mw_map_verdict_json(struct mw_buf *b, const struct mw_map *m)
{
	mw_buf_str(b, "{");
	mw_json_open(b, "trim", '{');
	mw_map_trim_json(b, &m->trim);
	mw_buf_str(b, "}");
	map_parts_json(b, m);
	mappings(b, m, FEW);
	map_lines_json(b, m, FEW);
	mw_buf_str(b, "}");
}

const char *const mw_map_figures[] = { "rss_bytes",      "seen_bytes",       "live_bytes", "live",
				       "swapped_bytes",  "shared_bytes",     "huge_bytes", "trim_bytes",
				       "left_out_bytes", "unsearched_bytes", NULL };

void mw_map_lines_of_text(struct mw_buf *b, const struct mw_map *m)
{
	const uint64_t v[] = { m->rss,    mw_map_seen(m), m->live_bytes, m->live,     m->swapped,
			       m->shared, m->huge,        m->trim.bytes, m->left_out, m->unsearched };

	for (int i = 0; mw_map_figures[i]; i++)
		if (m->trim.known || strcmp(mw_map_figures[i], "trim_bytes") != 0)
			mw_buf_fmt(b, "%s %" PRIu64 "\n", mw_map_figures[i], v[i]);
	for (int p = 0; p < MW_MAP_PARTS_N; p++)
		mw_buf_fmt(b, "part_%s %" PRIu64 "\n", mw_map_part_name((enum mw_map_part)p), m->parts[p]);
}

void mw_map_json(struct mw_buf *b, const struct mw_map *m, uint32_t id, const struct mw_site *s)
{
	mw_json_head(b, s, mw_site_uptime(s), "\nnow", "\nunix");
	mw_json_key(b, "\nid");
	mw_buf_fmt(b, "\"%ld-%u\"", (long)getpid(), id);
	mw_json_i64(b, "pid", getpid());
	mw_json_str(b, "allocator", m->allocator);
	mw_json_u64(b, "page_bytes", m->page);
	mw_json_u64(b, "rss_bytes", m->rss);
	mw_json_u64(b, "seen_bytes", mw_map_seen(m));
	mw_json_u64(b, "live_bytes", m->live_bytes);
	mw_json_u64(b, "live", m->live);
	mw_json_u64(b, "outside_bytes", m->outside);
	mw_json_bool(b, "late", m->missing == MW_MISSING_BEFORE);
	mw_json_str(b, "missing", mw_missing_name(m->missing));
	mw_json_tenths(b, "milliseconds", (double)m->ns / 1e6);
	words(b, m);
	map_parts_json(b, m);
	if (m->ruby_known) {
		mw_json_u64(b, "ruby_slots_bytes", m->ruby_slots);
		mw_json_u64(b, "ruby_used_bytes", m->ruby_used);
	}
	mw_json_u64(b, "swapped_bytes", m->swapped);
	mw_json_u64(b, "shared_bytes", m->shared);
	mw_json_u64(b, "huge_bytes", m->huge);
	mw_json_open(b, "\ntrim", '{');
	mw_map_trim_json(b, &m->trim);
	mw_buf_str(b, "}");
	mw_json_u64(b, "cells", m->n_cells);
	mw_json_u64(b, "levels", mw_map_levels(m));
	mw_json_u64(b, "tile_cells", MW_MAP_TILE);
	mw_json_u64(b, "left_out_bytes", m->left_out);
	mw_json_u64(b, "unsearched_bytes", m->unsearched);
	mw_json_u64(b, "undrawn_bytes", m->undrawn);
	mw_json_bool(b, "cut", m->left_out || m->unsearched || m->undrawn);
	mw_json_open(b, "\npanels", '[');
	for (uint32_t i = 0; i < m->n_panels; i++)
		panel(b, m, &m->panels[i]);
	mw_buf_str(b, "]");
	mappings(b, m, MW_MAP_MAPPINGS);
	map_lines_json(b, m, LINES);
	mw_buf_str(b, "\n}\n");
}
