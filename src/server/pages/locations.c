/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locations.c - GET /history/locations.json, and POST /annotate. */
#include "pages.h"

enum { POINTS_MAX_ONE = 500 };

static void answer(struct mw_call *call, const struct mw_params *p, const struct mw_span *span, double now)
{
	const struct mw_site *s = call->req->site;
	const char *location = p->v[MW_PARAM_LOCATION].s;
	struct mw_curve_set set;
	int rc = location ? mw_curves_read_one(&s->curves, location, p->v[MW_PARAM_LOCATION].n,
					       span->from, span->to, POINTS_MAX_ONE, &set) :
			    mw_curves_read(&s->curves, call->api, span->from, span->to, &set);
	struct mw_buf none = { 0 };

	if (rc) {
		mw_reply_why(call, 500, &none);
		return;
	}
	mw_reply_form(call, MW_FORM_JSON);
	mw_json_head(&call->res->body, s, now, "now", "unix");
	mw_curves_render(&call->res->body, &set, span->from, span->to, (size_t)span->points);
	mw_buf_str(&call->res->body, "}\n");
	mw_curves_free_set(&set);
}

void mw_page_locations(struct mw_call *call)
{
	static const struct mw_points points = { 48, MW_CURVES_POINTS, POINTS_MAX_ONE };
	struct mw_params p;
	struct mw_span span;

	if (!mw_span_query(call, &points, &p, &span))
		return;
	answer(call, &p, &span, mw_site_uptime(call->req->site));
	mw_params_free(&p);
}

void mw_page_annotate(struct mw_call *call)
{
	struct mw_buf why = { 0 };
	struct mw_params p;
	int bad;

	if (!mw_has_site(call))
		return;
	bad = mw_params_parse(&p, call->req->query, &why);
	if (!bad)
		bad = mw_params_text(&p, MW_EVENT_TEXT, &why);
	if (bad) {
		mw_reply_why(call, bad, &why);
	} else {
		mw_site_event(call->req->site, "annotation", p.v[MW_PARAM_TEXT].s);
		mw_done(call, "annotate: the history has it", "The history has the note.");
	}
	mw_buf_free(&why);
	mw_params_free(&p);
}
