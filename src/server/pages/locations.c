/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locations.c - GET /history/locations.json, and POST /annotate. */
#include <string.h>

#include "pages.h"

enum { POINTS_MAX_ONE = 500 };

/* Those that by= asks for; NULL, and a reason: there are no such. */
static const struct mw_curves *chosen(struct mw_call *call)
{
	const char *by = call->params.v[MW_PARAM_BY].s;

	if (!by || !strcmp(by, "live"))
		return &call->req->site->curves;
	if (!strcmp(by, "objects"))
		return &call->req->site->object_curves;
	mw_buf_str(&call->why, "by: live or objects");
	return NULL;
}

static void answer_curves(struct mw_call *call, const struct mw_curves *curves,
			  const struct mw_span *span, double now)
{
	const struct mw_site *s = call->req->site;
	const char *location = call->params.v[MW_PARAM_LOCATION].s;
	struct mw_curve_set set;
	int rc = location ? mw_curves_read_one(curves, location, call->params.v[MW_PARAM_LOCATION].n,
					       span->from, span->to, POINTS_MAX_ONE, &set) :
			    mw_curves_read(curves, call->api, span->from, span->to, &set);

	if (rc) {
		mw_response_no_memory(call->res);
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
	const struct mw_curves *curves = chosen(call);
	struct mw_span span;

	if (!mw_refused(call, curves ? 0 : 400) && mw_span_query(call, &points, &span))
		answer_curves(call, curves, &span, mw_site_uptime(call->req->site));
}

void mw_page_annotate(struct mw_call *call)
{
	if (mw_refused(call, mw_params_text(&call->params, MW_EVENT_TEXT, &call->why)))
		return;
	mw_site_event(call->req->site, "annotation", call->params.v[MW_PARAM_TEXT].s);
	mw_done(call, "annotate: the history has it", "The history has the note.");
}
