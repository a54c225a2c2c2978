/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overruns.c - /overruns: blocks written past their end, wrong sizes, double frees, and unknown frees. */
#include "shared/report/columns.h"
#include "pages.h"

struct view {
	struct mw_call *call;
	struct mw_overruns_list list;
};

static void overruns_head(struct mw_buf *b, void *unused)
{
	(void)unused;
	for (int i = 0; i < MW_OVERRUN_COLUMNS_N; i++) {
		const struct mw_column *c = &mw_overrun_columns[i];

		mw_buf_fmt(b, "<th scope=\"col\"%s title=\"",
			   c->type == MW_TYPE_TEXT ? "" : " class=\"num\"");
		mw_html_text(b, c->about);
		mw_html_text_in(b, "\">", c->title, "</th>\n");
	}
}

static void cell(struct mw_buf *b, const struct view *v, const struct mw_column *c, const struct mw_row *r)
{
	struct mw_cell value = { 0 };

	c->get(r, &value);
	if (c->type == MW_TYPE_TEXT) {
		mw_buf_str(b, "<td class=\"location\"><a ");
		mw_html_at_href(b, v->call, r, "");
		mw_buf_str(b, ">");
		mw_html_location(b, value.s, value.u);
		mw_buf_str(b, "</a></td>");
	} else {
		mw_buf_str(b, "<td class=\"num\">");
		mw_html_value(b, &value, c->type);
		mw_buf_str(b, "</td>");
	}
}

static void overrun_rows(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (size_t i = 0; i < v->list.n; i++) {
		mw_buf_str(b, "<tr>");
		for (int c = 0; c < MW_OVERRUN_COLUMNS_N; c++)
			cell(b, v, &mw_overrun_columns[c], v->list.rows[i]);
		mw_buf_str(b, "</tr>\n");
	}
	if (!v->list.n)
		mw_buf_fmt(b,
			   "<tr><td class=\"empty\" colspan=\"%d\">No block was found written past its end, or freed with a wrong size.</td></tr>\n",
			   MW_OVERRUN_COLUMNS_N);
}

static void overruns(struct mw_buf *b, void *ctx)
{
	mw_buf_commas(b, ((const struct view *)ctx)->list.stats.overruns);
}

static void double_frees(struct mw_buf *b, void *ctx)
{
	mw_buf_commas(b, ((const struct view *)ctx)->list.stats.double_frees);
}

static void unknown_frees(struct mw_buf *b, void *ctx)
{
	mw_buf_commas(b, ((const struct view *)ctx)->list.stats.unknown_frees);
}

static void wrong_sizes(struct mw_buf *b, void *ctx)
{
	mw_buf_commas(b, ((const struct view *)ctx)->list.stats.wrong_sizes);
}

static void overruns_page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->call->req->base },
		{ .name = "head", .fill = overruns_head, .ctx = v },
		{ .name = "rows", .fill = overrun_rows, .ctx = v },
		{ .name = "overruns", .fill = overruns, .ctx = v },
		{ .name = "double_frees", .fill = double_frees, .ctx = v },
		{ .name = "unknown_frees", .fill = unknown_frees, .ctx = v },
		{ .name = "wrong_sizes", .fill = wrong_sizes, .ctx = v },
	};

	mw_template(b, "overruns.html", slots, sizeof(slots) / sizeof(slots[0]));
}

void mw_page_overruns(struct mw_call *call)
{
	struct view v = { .call = call };

	if (mw_overruns_make(&v.list, call->api, mw_call_stats(call))) {
		mw_response_no_memory(call->res);
		return;
	}
	if (call->form == MW_FORM_HTML) {
		mw_reply_page(call, "overruns", overruns_page, &v);
	} else {
		mw_reply_form(call, call->form);
		mw_render_overruns(&call->res->body, &v.list, mw_form_format(call->form));
	}
	mw_overruns_free(&v.list, call->api);
}
