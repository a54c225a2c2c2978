/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict.c - /verdict and /verdict.json: what grows, since when, and why, in a sentence.
 *
 * A verdict about a range that the reader chose is made for each request.
 */
#include <string.h>

#include "map.h"
#include "pages.h"

static void as_text(struct mw_call *call, const struct mw_said *said, const struct mw_map *m)
{
	struct mw_buf *b = &call->res->body;

	call->res->status = 200;
	call->res->content_type = "text/plain; charset=utf-8";
	mw_buf_add(b, said->sentence.p, said->sentence.n);
	mw_buf_str(b, "\n");
	if (said->next.n) {
		mw_buf_add(b, said->next.p, said->next.n);
		mw_buf_str(b, "\n");
	}
	if (m)
		mw_map_on_verdict(b, m, said->kind);
}

static void as_json(struct mw_call *call, const struct mw_said *said, const struct mw_map *m)
{
	const struct mw_site *s = call->req->site;
	struct mw_buf *b = &call->res->body;

	mw_reply_form(call, MW_FORM_JSON);
	mw_json_head(b, s, mw_site_uptime(s), "\nnow", "\nunix");
	mw_buf_str(b, ",\n");
	mw_buf_add(b, said->json.p, said->json.n);
	mw_site_told(b, s);
	if (m) {
		mw_json_key(b, "\nmap");
		mw_map_verdict_json(b, m);
	}
	mw_buf_str(b, "}\n");
}

void mw_page_verdict(struct mw_call *call)
{
	static const struct mw_points points = { MW_CURVES_POINTS, MW_CURVES_POINTS, MW_CURVES_POINTS };
	struct mw_said ranged = { 0 };
	const struct mw_said *said = NULL;
	struct mw_span span;
	const struct mw_map *m = NULL;

	if (!mw_span_query(call, &points, &span))
		return;
	if (!span.given)
		said = mw_site_said(call->req->site);
	else if (!mw_said_make(&ranged, call->req->site, span.from, span.to))
		said = &ranged;
	/* a map is made only where somebody asks, and there is a question that it answers */
	if (said && mw_map_explains(said->kind))
		m = mw_site_some_map(call->req->site);
	if (!said)
		mw_response_no_memory(call->res);
	else if (strstr(call->req->path, ".json"))
		as_json(call, said, m);
	else
		as_text(call, said, m);
	mw_said_free(&ranged);
}
