/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verdict.c - /verdict and /verdict.json: what grows, since when, and why, in a sentence.
 *
 * A verdict about all ranges costs some milliseconds, so it holds for VERDICT_SECONDS. One about a
 * range that the reader chose is made for each request.
 */
#include <string.h>

#include "server/verdict/evidence.h"
#include "server/verdict/look.h"
#include "map.h"
#include "pages.h"

enum { VERDICT_SECONDS = 4 };

static int read_curves(void *ctx, double from, double to, struct mw_curve_set *set)
{
	const struct mw_site *s = ctx;

	return mw_curves_read(&s->curves, s->api, from, to, set);
}

/* A range's points may be a minute apart. What there is now is the newest second's, if it is in the range. */
static void take_newest(struct mw_verdict *v, const struct mw_history *h)
{
	const struct mw_point *last = mw_history_last(h);

	if (!last || last->t > v->to)
		return;
	for (int part = 0; part < MW_PARTS_N; part++) {
		uint32_t kib = mw_rss_part_of(last, (enum mw_rss_part)part);

		if (kib != MW_KIB_UNKNOWN)
			v->now[part] = (double)kib * 1024;
	}
}

/* from < 0: about all ranges. 0; -1: no memory, and *said is all zero. */
static int make(struct mw_said *said, struct mw_site *s, double from, double to)
{
	const struct mw_evidence_source src = {
		.history = &s->history,
		.now = mw_site_uptime(s),
		.paused = s->api->paused(),
		.curves = read_curves,
		.ctx = s,
	};
	struct mw_evidence e;
	struct mw_verdict v;
	int rc = mw_evidence_make(&e, &src, from, to);

	*said = (struct mw_said){ .at = src.now };
	if (rc)
		return rc;
	rc = mw_verdict_make(&v, &e);
	if (!rc) {
		take_newest(&v, &s->history);
		said->kind = v.kind;
		said->growing = v.growing;
		said->rate = v.rate;
		mw_verdict_sentence(&said->sentence, &v);
		mw_buf_add(&said->sentence, "", 1); /* a C string, for the family */
		said->sentence.n -= !said->sentence.failed;
		mw_verdict_next(&said->next, &v);
		mw_verdict_json(&said->json, &v);
		if (said->sentence.failed || said->next.failed || said->json.failed)
			rc = -1;
	}
	mw_evidence_free(&e);
	if (rc)
		mw_said_free(said);
	return rc;
}

void mw_said_free(struct mw_said *said)
{
	mw_buf_free(&said->sentence);
	mw_buf_free(&said->next);
	mw_buf_free(&said->json);
	*said = (struct mw_said){ 0 };
}

const struct mw_said *mw_site_said(struct mw_site *s)
{
	struct mw_said said;

	if (s->said.sentence.n && mw_site_uptime(s) < s->said.at + VERDICT_SECONDS)
		return &s->said;
	if (make(&said, s, -1, -1))
		return NULL;
	atomic_fetch_add(&s->busy, 1);
	mw_said_free(&s->said);
	s->said = said;
	atomic_fetch_sub(&s->busy, 1);
	return &s->said;
}

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
	else if (!make(&ranged, call->req->site, span.from, span.to))
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
