/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.c - report.html: one page that needs no server: sentence, curves, table, flame graph. */
#include <unistd.h>

#include "files.h"
#include "server/pages/pages.h"

enum { ROWS = 100 };

struct page {
	struct mw_call call; /* of no request: what pages.h needs */
	struct mw_request req;
	const struct mw_report_about *about;
	struct mw_buf tree; /* JSON */
};

static void title(struct mw_buf *b, void *ctx)
{
	const struct page *p = ctx;

	mw_html_text_in(b, "report of ", p->about->app, "");
}

static void process(struct mw_buf *b, void *ctx)
{
	const struct page *p = ctx;

	mw_html_text(b, p->about->app);
	mw_buf_fmt(b, ", pid %ld, up ", (long)getpid());
	mw_html_duration(b, mw_site_uptime(p->req.site));
	mw_buf_str(b, ", ");
	mw_buf_time(b, mw_unix_now());
	mw_html_text_in(b, ". Written because ", p->about->cause, ".");
}

static void past(struct mw_buf *b, void *ctx)
{
	struct page *p = ctx;

	mw_html_past(b, &p->call);
}

static void report_page_row(struct mw_buf *b, const struct mw_row *r)
{
	mw_buf_str(b, "<tr>");
	mw_html_bytes_cell(b, r->live_bytes);
	mw_html_number(b, r->live);
	mw_buf_str(b, "<td class=\"num\">");
	mw_html_bytes(b, (uint64_t)(r->growth < 0 ? -r->growth : r->growth), r->growth < 0);
	mw_buf_str(b, "</td>");
	mw_html_bytes_cell(b, r->total);
	mw_buf_str(b, "<td class=\"location\">");
	mw_html_location(b, r->location, r->location_len);
	mw_buf_str(b, "</td></tr>\n");
}

static void report_page_rows(struct mw_buf *b, void *ctx)
{
	const struct page *p = ctx;
	const struct mw_api *api = p->call.api;
	const struct mw_query q = { .sort = mw_column_find("live_bytes", 10), .limit = ROWS };
	struct mw_result result;

	if (mw_result_make(&result, api, &q)) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < result.n; i++)
		report_page_row(b, &result.rows[i]);
	mw_result_free(&result, api);
}

/* In a script element: "<" could end it. */
static void flame_tree_json(struct mw_buf *b, void *ctx)
{
	const struct mw_buf *tree = &((const struct page *)ctx)->tree;
	size_t from = 0;

	for (size_t i = 0; i < tree->n; i++)
		if (tree->p[i] == '<') {
			mw_buf_add(b, tree->p + from, i - from);
			mw_buf_str(b, "\\u003c");
			from = i + 1;
		}
	mw_buf_add(b, tree->p + from, tree->n - from);
	if (!tree->n)
		mw_buf_str(b, "null");
}

bool mw_report_page(struct mw_buf *b, struct mw_site *s, const struct mw_report_about *about)
{
	struct mw_response res = { 0 };
	struct page p = { .about = about };
	const struct mw_slot slots[] = {
		{ .name = "title", .fill = title, .ctx = &p },
		{ .name = "process", .fill = process, .ctx = &p },
		{ .name = "past", .fill = past, .ctx = &p },
		{ .name = "rows", .fill = report_page_rows, .ctx = &p },
		{ .name = "version", .text = MWRAP_VERSION },
		{ .name = "json", .fill = flame_tree_json, .ctx = &p },
	};

	p.req = (struct mw_request){ .method = "GET", .path = "/", .base = "", .site = s };
	p.call = (struct mw_call){ .api = s->api, .req = &p.req, .res = &res, .rest = "" };
	(void)mw_report_answer(&p.tree, s, "/flame.json", NULL);
	mw_template(b, "dist/report_written.html", slots, sizeof(slots) / sizeof(slots[0]));
	mw_buf_free(&p.tree);
	return !b->failed;
}
