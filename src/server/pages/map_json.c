/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map_json.c - a map for programs; see map.h. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "map.h"

enum { LINES = 200, FEW = 5 };

static void text(struct mw_buf *b, const char *s)
{
	mw_buf_json(b, s, strlen(s));
}

static void member(struct mw_buf *b, const char *name, uint64_t v)
{
	mw_buf_fmt(b, ",\"%s\":%" PRIu64, name, v);
}

void mw_map_trim_json(struct mw_buf *b, const struct mw_map_trim *t)
{
	mw_buf_fmt(b, "\"bytes\":%" PRIu64 ",\"least_bytes\":%" PRIu64 ",\"milliseconds\":%.1f",
		   t->bytes, t->least, (double)t->ns / 1e6);
}

struct list {
	struct mw_buf *b;
	bool any;
};

static void add_advice(void *ctx, const char *s)
{
	struct list *l = ctx;

	mw_buf_str(l->b, l->any ? ",\n" : "");
	text(l->b, s);
	l->any = true;
}

static void words(struct mw_buf *b, const struct mw_map *m)
{
	struct mw_buf sentence = { 0 };
	struct list advice = { .b = b };

	mw_map_sentence(&sentence, m);
	mw_buf_str(b, ",\n\"sentence\":");
	mw_buf_json(b, sentence.p, sentence.n);
	b->failed |= sentence.failed;
	mw_buf_free(&sentence);
	mw_buf_str(b, ",\n\"advice\":[");
	mw_map_advice(m, add_advice, &advice);
	mw_buf_str(b, "]");
}

static void parts(struct mw_buf *b, const struct mw_map *m)
{
	mw_buf_str(b, ",\n\"parts\":[");
	for (int p = 0; p < MW_MAP_PARTS_N; p++) {
		mw_buf_fmt(b, "%s{\"name\":\"%s\",\"bytes\":%" PRIu64 ",\"title\":", p ? ",\n" : "",
			   mw_map_part_name((enum mw_map_part)p), m->parts[p]);
		text(b, mw_map_part_title((enum mw_map_part)p));
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

static void panel(struct mw_buf *b, const struct mw_map *m, const struct mw_map_panel *p)
{
	char name[48];

	mw_map_panel_title(p, m, name);
	mw_buf_str(b, "{\"name\":");
	text(b, name);
	mw_buf_fmt(b, ",\"kind\":\"%s\"", mw_map_panel_name(p->kind));
	member(b, "cell", p->cell);
	member(b, "cells", p->cells);
	member(b, "resident_bytes", p->resident);
	member(b, "live_bytes", p->live);
	mw_buf_str(b, ",\"spans\":[");
	for (uint32_t i = 0; i < p->spans; i++) {
		const struct mw_map_span *s = &m->spans[p->span + i];

		mw_buf_fmt(b, "%s[\"0x%" PRIxPTR "\",%u,%u]", i ? "," : "", s->start, s->cell, s->pages);
	}
	mw_buf_str(b, "]}");
}

static void line(struct mw_buf *b, const struct mw_map_line *l, uint32_t i)
{
	mw_buf_str(b, "{\"location\":");
	mw_buf_json(b, l->location, l->location_len);
	member(b, "live_bytes", l->bytes);
	member(b, "blocks", l->blocks);
	member(b, "holds_bytes", l->holds);
	member(b, "alone_bytes", l->alone);
	member(b, "colour", i < MW_MAP_COLOURS ? i + 1 : 0);
	mw_buf_str(b, "}");
}

static void mapping(struct mw_buf *b, const struct mw_map_mapping *p)
{
	mw_buf_fmt(b, "{\"from\":\"0x%" PRIxPTR "\",\"mappings\":%u", p->start, p->n);
	member(b, "bytes", p->bytes);
	member(b, "resident_bytes", p->resident);
	mw_buf_str(b, ",\"location\":");
	mw_buf_json(b, p->location, p->location_len);
	mw_buf_str(b, "}");
}

static void lines(struct mw_buf *b, const struct mw_map *m, uint32_t most)
{
	mw_buf_str(b, ",\n\"lines\":[");
	for (uint32_t i = 0; i < m->n_lines && i < most; i++) {
		mw_buf_str(b, i ? ",\n" : "\n");
		line(b, &m->lines[i], i);
	}
	mw_buf_str(b, "]");
}

static void mappings(struct mw_buf *b, const struct mw_map *m, uint32_t most)
{
	mw_buf_str(b, ",\n\"mappings\":[");
	for (uint32_t i = 0; i < m->n_mappings && i < most; i++) {
		mw_buf_str(b, i ? ",\n" : "\n");
		mapping(b, &m->mappings[i]);
	}
	mw_buf_str(b, "]");
}

void mw_map_verdict_json(struct mw_buf *b, const struct mw_map *m)
{
	mw_buf_str(b, "{\"trim\":{");
	mw_map_trim_json(b, &m->trim);
	mw_buf_str(b, "}");
	parts(b, m);
	mappings(b, m, FEW);
	lines(b, m, FEW);
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
		mw_buf_fmt(b, "%s %" PRIu64 "\n", mw_map_figures[i], v[i]);
	for (int p = 0; p < MW_MAP_PARTS_N; p++)
		mw_buf_fmt(b, "part_%s %" PRIu64 "\n", mw_map_part_name((enum mw_map_part)p), m->parts[p]);
}

void mw_map_json(struct mw_buf *b, const struct mw_map *m, uint32_t id, const struct mw_site *s)
{
	mw_json_head(b, s, mw_site_uptime(s), ",\n", ",\n");
	mw_buf_fmt(b, ",\n\"id\":\"%ld-%u\",\"pid\":%ld,\"allocator\":", (long)getpid(), id,
		   (long)getpid());
	text(b, m->allocator);
	member(b, "page_bytes", m->page);
	member(b, "rss_bytes", m->rss);
	member(b, "seen_bytes", mw_map_seen(m));
	member(b, "live_bytes", m->live_bytes);
	member(b, "live", m->live);
	member(b, "outside_bytes", m->outside);
	mw_buf_fmt(b, ",\"late\":%s,\"milliseconds\":%.1f", m->late ? "true" : "false",
		   (double)m->ns / 1e6);
	words(b, m);
	parts(b, m);
	if (m->ruby_known) {
		member(b, "ruby_slots_bytes", m->ruby_slots);
		member(b, "ruby_used_bytes", m->ruby_used);
	}
	member(b, "swapped_bytes", m->swapped);
	member(b, "shared_bytes", m->shared);
	member(b, "huge_bytes", m->huge);
	mw_buf_str(b, ",\n\"trim\":{");
	mw_map_trim_json(b, &m->trim);
	mw_buf_str(b, "}");
	member(b, "cells", m->n_cells);
	member(b, "levels", mw_map_levels(m));
	member(b, "tile_cells", MW_MAP_TILE);
	member(b, "left_out_bytes", m->left_out);
	member(b, "unsearched_bytes", m->unsearched);
	member(b, "undrawn_bytes", m->undrawn);
	mw_buf_fmt(b, ",\"cut\":%s,\n\"panels\":[",
		   m->left_out || m->unsearched || m->undrawn ? "true" : "false");
	for (uint32_t i = 0; i < m->n_panels; i++) {
		mw_buf_str(b, i ? ",\n" : "\n");
		panel(b, m, &m->panels[i]);
	}
	mw_buf_str(b, "]");
	mappings(b, m, MW_MAP_MAPPINGS);
	lines(b, m, LINES);
	mw_buf_str(b, "\n}\n");
}
