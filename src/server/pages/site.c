/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site.c - history and marks of a server, and the pages of the history. See site.h. */
#include "site.h"

#include <stdio.h>
#include <string.h>

#include "shared/sys/clock.h"
#include "pages.h"

void mw_site_start(struct mw_site *s, const struct mw_api *api)
{
	struct mw_stream_inputs inputs = { .api = api, .mark = &s->mark, .ending = mw_event_point, .ctx = s };
	struct mw_stats stats = { 0 };
	uint64_t up;
	bool lost = atomic_load(&s->busy);
	char from[40];

	if (!lost) {
		mw_mark_clear(&s->mark);
		mw_said_free(&s->said);
		mw_helds_free(&s->proofs.helds);
		mw_maps_tidy(&s->maps, 0, true);
	}
	s->proofs = (struct mw_proofs){ .gc_disabled = -1 };
	s->maps = (struct mw_maps){ 0 };
	s->said = (struct mw_said){ 0 };
	s->steady = (struct mw_steady){ 0 };
	s->own_cost = (struct mw_own_cost){ 0 };
	s->told_n = 0;
	s->report_asked = false;
	s->mark = (struct mw_mark){ 0 };
	mw_marks_start(&s->marks); /* the parent's say nothing of this process */
	atomic_store(&s->busy, 0);
	memset(&s->history, 0, sizeof(s->history));
	memset(&s->parts, 0, sizeof(s->parts));
	s->counts = (struct mw_counts){ 0 };
	s->limits = (struct mw_limits){ 0 };
	s->limits_next = 0;
	memset(&s->stats, 0, sizeof(s->stats));
	s->stats_next = s->stats_n = 0;
	memset(s->stats_costs, 0, sizeof(s->stats_costs));
	mw_curves_start(&s->curves, api, api->options()->history, lost);
	mw_curves_start(&s->object_curves, api, api->options()->history, lost);
	s->statm = -1;
	s->api = api;
	api->stats(&stats);
	up = stats.uptime > 0 && stats.uptime < 1e12 ? (uint64_t)(stats.uptime * 1000) : 0;
	s->proofs.look =
		(double)up / 1000 + MW_PROOF_LOOK_SECONDS; /* an idle server has no need of that code */
	s->origin_ms = mw_now_ms() - up; /* may wrap if a test's uptime is longer than the machine's */
	inputs.origin_ms = s->origin_ms;
	mw_stream_start(&s->stream, &inputs);
	if (stats.forker) {
		snprintf(from, sizeof(from), "from process %ld", stats.forker);
		mw_site_event(s, "fork", from);
	}
}

void mw_site_end(struct mw_site *s)
{
	mw_stream_end(&s->stream);
	mw_mark_clear(&s->mark);
	mw_said_free(&s->said);
	mw_helds_free(&s->proofs.helds);
	mw_maps_tidy(&s->maps, 0, true);
	mw_curves_end(&s->curves);
	mw_curves_end(&s->object_curves);
}

/* --- pages ------------------------------------------------------------------------- */

bool mw_has_site(struct mw_call *call)
{
	if (call->req->site)
		return true;
	mw_reply(call, 503,
		 call->req->site_busy ?
			 "the server of this process, which has the history, doesn't answer: try again" :
			 "marks belong to one process, as do history and /live: use /PID/mark");
	return false;
}

int mw_unknown_time(struct mw_buf *why, const struct mw_site *s)
{
	mw_buf_str(why, "from, to: nothing is known of that time: the history ");
	if (s->curves.begun) {
		mw_buf_str(why, "begins at an uptime of ");
		mw_buf_u64(why, s->curves.first);
		mw_buf_str(why, " seconds");
	} else {
		mw_buf_str(why, "hasn\xe2\x80\x99t begun yet");
	}
	return 400;
}

void mw_json_head(struct mw_buf *b, const struct mw_site *s, double now, const char *name_of_now,
		  const char *name_of_unix)
{
	if (!s) {
		mw_buf_str(b, "{\"start\":\"\",\"now\":0,\"unix\":0");
		return;
	}
	mw_buf_str(b, "{");
	mw_json_str(b, "start", s->stream.start);
	mw_json_seconds(b, name_of_now, now);
	mw_json_seconds(b, name_of_unix, mw_unix_now());
}

void mw_json_moment(struct mw_buf *b, const struct mw_moment *m)
{
	mw_json_key(b, "time");
	mw_buf_str(b, "\"");
	mw_buf_time(b, m->unix_time);
	mw_buf_str(b, "\"");
	mw_json_seconds(b, "unix", m->unix_time);
	mw_json_seconds(b, "uptime", m->uptime);
}

/* All grids, or a part of the time if the query asks for one. */
static void answer_history(struct mw_call *call, const struct mw_history_part *part, double now)
{
	const struct mw_site *s = call->req->site;
	struct mw_buf *b = &call->res->body;

	mw_reply_form(call, MW_FORM_JSON);
	mw_json_head(b, s, now, "\nnow", "unix");
	mw_limits_json(b, &s->limits);
	if (part)
		mw_history_render_part(b, &s->history, part);
	else
		mw_history_render(b, &s->history, now);
	mw_buf_str(b, "}\n");
}

bool mw_span_query(struct mw_call *call, const struct mw_points *points, struct mw_span *span)
{
	const struct mw_params *p = &call->params;
	double now = mw_site_uptime(call->req->site);

	*span = (struct mw_span){ .to = now, .points = points->usual };
	return !mw_refused(call, mw_params_span(p, now,
						p->v[MW_PARAM_LOCATION].s ? points->max_one : points->max,
						span, &call->why));
}

void mw_page_history(struct mw_call *call)
{
	static const struct mw_points points = { 300, 1440, 1440 };
	struct mw_span span;

	if (!mw_span_query(call, &points, &span))
		return;
	const struct mw_history_part part = { span.from, span.to, span.points };

	answer_history(call, span.given || call->params.v[MW_PARAM_POINTS].s ? &part : NULL,
		       mw_site_uptime(call->req->site));
}
