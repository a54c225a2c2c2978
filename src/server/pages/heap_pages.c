/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_pages.c - /heap_pages: the pages of Ruby's objects, which count at no
 * location. Only Ruby knows how full each is: see lib/mwrap/objects.rb.
 */
#include <inttypes.h>
#include <string.h>

#include "shared/report/heap_page_rows.h"
#include "pages.h"

struct view {
	struct mw_call *call;
	struct mw_heap_list list;
	uint64_t limit, offset;
};

/* name: of the figure or column */
static void value(struct mw_buf *b, const struct mw_cell *c, const char *name)
{
	mw_buf_str(b, c->kind == MW_CELL_ADDRESS ? "<td class=\"num address\">" : "<td class=\"num\">");
	mw_html_value(b, c, strcmp(name, "bytes") ? MW_TYPE_COUNT : MW_TYPE_BYTES);
	mw_buf_str(b, "</td>");
}

static void heap_summary(struct mw_buf *b, void *ctx)
{
	const struct mw_heap_sums *s = &((const struct view *)ctx)->list.heap->sums;

	if (!s->pages && !s->lives.n) {
		mw_buf_str(b, "No heap page is known: there is no Ruby in this process, or one that gets "
			      "its pages in a way that the tracker doesn\xe2\x80\x99t know.");
		return;
	}
	mw_buf_str(b, "Ruby has ");
	mw_buf_commas(b, s->pages);
	mw_buf_str(b, s->pages == 1 ? " page, " : " pages, ");
	mw_html_bytes(b, s->bytes, false);
	mw_buf_str(b, ", for its objects; what these point to is in the table of locations. ");
	mw_buf_commas(b, s->lives.n);
	mw_buf_str(b, s->lives.n == 1 ? " page was given back, and " : " pages were given back, and ");
	mw_buf_commas(b, s->deaths.n);
	mw_buf_str(b, " taken again at the same place. A page goes only when no object is left in it.");
}

static void heap_figure_rows(struct mw_buf *b, void *ctx)
{
	const struct mw_heap_sums *s = &((const struct view *)ctx)->list.heap->sums;

	for (int i = 0; i < MW_HEAP_FIGURES_N; i++) {
		struct mw_cell c = { 0 };

		mw_heap_figures[i].get(s, &c);
		mw_html_text_in(b, "<tr><th scope=\"row\">", mw_heap_figures[i].title, "</th>");
		value(b, &c, mw_heap_figures[i].name);
		mw_html_text_in(b, "<td>", mw_heap_figures[i].about, "</td></tr>\n");
	}
}

static void caption(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_buf_str(b, "Live pages");
	if (v->list.n) {
		mw_html_commas_in(b, " ", v->list.from + 1, "\xe2\x80\x93");
		mw_buf_commas(b, v->list.from + v->list.n);
		mw_buf_str(b, " of ");
		mw_buf_commas(b, v->list.heap->n);
	}
	mw_buf_str(b, ", oldest first");
}

static void heap_pages_head(struct mw_buf *b, void *unused)
{
	(void)unused;
	for (int i = 0; i < MW_HEAP_COLUMNS_N; i++) {
		mw_html_text_in(b, "<th scope=\"col\" class=\"num\" title=\"", mw_heap_columns[i].about,
				"\">");
		mw_html_text(b, mw_heap_columns[i].title);
		mw_buf_str(b, "</th>\n");
	}
}

static void heap_page_rows(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (size_t i = 0; i < v->list.n; i++) {
		mw_buf_str(b, "<tr>");
		for (int k = 0; k < MW_HEAP_COLUMNS_N; k++) {
			struct mw_cell c = { 0 };

			mw_heap_columns[k].get(v->list.heap, &v->list.heap->v[v->list.from + i], &c);
			value(b, &c, mw_heap_columns[k].name);
		}
		mw_buf_str(b, "</tr>\n");
	}
	if (!v->list.n)
		mw_buf_fmt(b, "<tr><td class=\"empty\" colspan=\"%d\">%s</td></tr>\n", MW_HEAP_COLUMNS_N,
			   v->list.heap->n ? "No page is left at this offset." : "No page lives.");
}

static void pager_href(struct mw_buf *b, const void *ctx, uint64_t offset)
{
	const struct view *v = ctx;

	mw_html_text_in(b, "href=\"", v->call->req->base, "/heap_pages?limit=");
	mw_buf_fmt(b, "%" PRIu64 "&amp;offset=%" PRIu64 "\"", v->limit, offset);
}

static void pager(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	const struct mw_slice slice = { .offset = v->offset,
					.limit = v->limit,
					.n = v->list.n,
					.total = v->list.heap->n,
					.href = pager_href,
					.ctx = v };

	mw_html_pager(b, &slice);
}

static void heap_pages_page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->call->req->base },
		{ .name = "summary", .fill = heap_summary, .ctx = v },
		{ .name = "figures", .fill = heap_figure_rows, .ctx = v },
		{ .name = "caption", .fill = caption, .ctx = v },
		{ .name = "head", .fill = heap_pages_head, .ctx = v },
		{ .name = "rows", .fill = heap_page_rows, .ctx = v },
		{ .name = "pager", .fill = pager, .ctx = v },
	};

	mw_template(b, "heap_pages.html", slots, sizeof(slots) / sizeof(slots[0]));
}

void mw_page_heap_pages(struct mw_call *call)
{
	struct view v = { .call = call, .limit = call->form == MW_FORM_HTML ? MW_EACH_LIMIT : 0 };
	int bad = mw_params_slice(&call->params, &v.limit, &v.offset, &call->why);

	if (call->form == MW_FORM_HTML)
		v.limit = mw_page_limit(v.limit);
	if (!bad && mw_heap_list_make(&v.list, call->api, v.offset, v.limit))
		bad = 500;
	if (mw_refused(call, bad))
		return;
	if (call->form == MW_FORM_HTML) {
		mw_reply_page(call, "heap pages", heap_pages_page, &v);
	} else {
		mw_reply_form(call, call->form);
		mw_render_heap(&call->res->body, &v.list, mw_form_format(call->form));
	}
	mw_heap_list_free(&v.list, call->api);
}
