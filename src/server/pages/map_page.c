/* SPDX-License-Identifier: GPL-2.0-or-later */
/* map_page.c - /map as HTML: all in words and tables; a script adds the picture. See map.h. */
#include <inttypes.h>

#include "map.h"

enum { LINES = 50 };

struct view {
	struct mw_call *call;
	const struct mw_map *m;
};

static void map_sentence(struct mw_buf *b, void *ctx)
{
	struct mw_buf text = { 0 };

	mw_map_sentence(&text, ((const struct view *)ctx)->m);
	mw_buf_html(b, text.p, text.n);
	b->failed |= text.failed;
	mw_buf_free(&text);
}

struct list {
	struct mw_buf *b;
	bool any;
};

static void item(void *ctx, const char *text)
{
	struct list *l = ctx;

	mw_buf_str(l->b, l->any ? "<li>" : "<ul class=\"advice\">\n<li>");
	mw_html_text(l->b, text);
	mw_buf_str(l->b, "</li>\n");
	l->any = true;
}

static void advice(struct mw_buf *b, void *ctx)
{
	struct list l = { .b = b };

	mw_map_advice(((const struct view *)ctx)->m, item, &l);
	mw_buf_str(b, l.any ? "</ul>\n" : "");
}

/* Widths are shares of what was seen. */
static void bar(struct mw_buf *b, void *ctx)
{
	const struct mw_map *m = ((const struct view *)ctx)->m;
	double x = 0, seen = (double)mw_map_seen(m);

	mw_buf_str(b,
		   "<svg class=\"memory-bar\" viewBox=\"0 0 1000 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
	for (int p = 0; p < MW_MAP_PARTS_N; p++) {
		double width = m->parts[p] ? 1000 * (double)m->parts[p] / seen : 0;

		if (m->parts[p]) {
			mw_buf_fmt(b, "<rect data-part=\"%s\" x=\"", mw_map_part_name((enum mw_map_part)p));
			mw_buf_decimals(b, x, 3);
			mw_buf_str(b, "\" width=\"");
			mw_buf_decimals(b, width, 3);
			mw_buf_str(b, "\" height=\"1\"/>");
		}
		x += width;
	}
	mw_buf_str(b, "</svg>\n");
}

static void map_part_rows(struct mw_buf *b, void *ctx)
{
	const struct mw_map *m = ((const struct view *)ctx)->m;
	uint64_t seen = mw_map_seen(m);

	for (int p = 0; p < MW_MAP_PARTS_N; p++) {
		if (!m->parts[p])
			continue;
		mw_buf_str(b, "<tr>");
		mw_html_bytes_cell(b, m->parts[p]);
		mw_buf_str(b, "<td class=\"num\">");
		mw_buf_decimals(b, 100 * (double)m->parts[p] / (double)seen, 1);
		mw_buf_fmt(b, " %%</td><td><i data-part=\"%s\"></i>",
			   mw_map_part_name((enum mw_map_part)p));
		mw_html_text(b, mw_map_part_title((enum mw_map_part)p));
		mw_buf_str(b, "</td></tr>\n");
	}
}

static void map_line_rows(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	const struct mw_map *m = v->m;

	for (uint32_t i = 0; i < m->n_lines && i < LINES; i++) {
		const struct mw_map_line *l = &m->lines[i];
		const struct mw_row row = {
			.location = l->location, .location_len = l->location_len, .id = l->id
		};

		mw_buf_str(b, "<tr>");
		mw_html_bytes_cell(b, l->bytes);
		mw_html_bytes_cell(b, l->holds);
		mw_buf_str(b, "<td class=\"num\">");
		mw_buf_decimals(b, l->bytes ? (double)l->holds / (double)l->bytes : 0, 1);
		mw_buf_str(b, "</td>");
		mw_html_bytes_cell(b, l->alone);
		mw_html_number(b, l->blocks);
		mw_buf_str(b, "<td class=\"location\"><a ");
		mw_html_at_href(b, v->call, &row, "");
		mw_buf_str(b, ">");
		mw_html_location(b, l->location, l->location_len);
		mw_buf_str(b, "</a></td></tr>\n");
	}
	if (!m->n_lines)
		mw_buf_str(b, "<tr><td class=\"empty\" colspan=\"6\">Nothing is live.</td></tr>\n");
}

static void mappings(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (uint32_t i = 0; i < v->m->n_mappings && i < LINES; i++) {
		const struct mw_map_mapping *p = &v->m->mappings[i];

		mw_buf_str(b, "<tr>");
		mw_html_bytes_cell(b, p->bytes);
		mw_html_bytes_cell(b, p->resident);
		mw_buf_fmt(b, "<td>0x%" PRIxPTR "</td><td class=\"location\">", p->start);
		mw_html_location(b, p->location, p->location_len);
		mw_buf_str(b, "</td></tr>\n");
	}
	if (!v->m->n_mappings)
		mw_buf_str(b, "<tr><td class=\"empty\" colspan=\"4\">There is none.</td></tr>\n");
}

static void panels(struct mw_buf *b, void *ctx)
{
	const struct mw_map *m = ((const struct view *)ctx)->m;

	for (uint32_t i = 0; i < m->n_panels; i++) {
		const struct mw_map_panel *p = &m->panels[i];
		char title[48];

		mw_map_panel_title(p, m, title);
		mw_buf_str(b, "<tr>");
		mw_html_bytes_cell(b, p->resident);
		mw_html_bytes_cell(b, p->live);
		mw_buf_fmt(b, "<td class=\"num\">0x%" PRIxPTR "</td><td>",
			   p->spans ? m->spans[p->span].start : 0);
		mw_html_text(b, title);
		mw_buf_str(b, "</td></tr>\n");
	}
}

/* The form, after what it would do. */
static void trim_form(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	const struct mw_map_trim *t = &v->m->trim;

	if (mw_read_only(v->call))
		return;
	mw_html_text_in(b, "<form class=\"trim\" action=\"", v->call->req->base,
			"/map/trim\" method=\"post\"><button>Trim</button> gives back ");
	if (!t->known) {
		mw_buf_str(b, "what is free: how much isn\xe2\x80\x99t known.</form>\n");
		return;
	}
	if (t->least < t->bytes) {
		mw_html_bytes(b, t->least, false);
		mw_buf_str(b, " to ");
	}
	mw_html_bytes(b, t->bytes, false);
	mw_buf_fmt(b, ", and holds locks of the allocator\xe2\x80\x99s for about %llu ms.</form>\n",
		   (unsigned long long)(t->ns / 1000000 + 1));
}

static void map_exports(struct mw_buf *b, void *ctx)
{
	mw_html_text_in(b, "<a href=\"", ((const struct view *)ctx)->call->req->base,
			"/map.json\">JSON</a>");
}

static void memory_map_page(struct mw_buf *b, void *ctx)
{
	const struct mw_slot slots[] = {
		{ .name = "sentence", .fill = map_sentence, .ctx = ctx },
		{ .name = "advice", .fill = advice, .ctx = ctx },
		{ .name = "bar", .fill = bar, .ctx = ctx },
		{ .name = "parts", .fill = map_part_rows, .ctx = ctx },
		{ .name = "lines", .fill = map_line_rows, .ctx = ctx },
		{ .name = "mappings", .fill = mappings, .ctx = ctx },
		{ .name = "panels", .fill = panels, .ctx = ctx },
		{ .name = "trim", .fill = trim_form, .ctx = ctx },
		{ .name = "exports", .fill = map_exports, .ctx = ctx },
	};

	mw_template(b, "map.html", slots, sizeof(slots) / sizeof(slots[0]));
}

void mw_map_page_reply(struct mw_call *call, const struct mw_map *m)
{
	struct view v = { call, m };

	call->script = "map";
	mw_reply_page(call, "memory map", memory_map_page, &v);
}
