/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.c - GET /snapshot.tsv: what /each/0.tsv has, below a line that says of which process and
 * moment it is.
 */
#include "pages.h"

/* The process as a whole, when these rows were taken. */
static struct mw_moment moment(const struct mw_call *call, const struct mw_snapshot *rows)
{
	const struct mw_site *s = call->req->site;
	struct mw_stats stats = { 0 };
	uint64_t rss = 0;

	call->api->stats(&stats);
	if (!stats.processes && !mw_rss_bytes(s ? s->statm : -1, &rss))
		rss = 0;
	return mw_moment_now(rows, &stats, s ? mw_site_uptime(s) : stats.uptime, rss);
}

static void head(struct mw_buf *b, const struct mw_call *call, const struct mw_moment *m)
{
	mw_head_begin(b);
	mw_head_text(b, "mark", "", 0);
	mw_head_times(b, "", m);
	mw_head_process(b, call);
	mw_head_moment(b, m);
	mw_buf_str(b, "\n");
}

static void answer(struct mw_call *call, struct mw_query *q)
{
	struct mw_result result;
	struct mw_buf none = { 0 };
	struct mw_stats stats = { 0 };
	struct mw_moment now;

	call->api->stats(&stats);
	q->kinds = stats.stacks_rate || stats.stacks;
	if (mw_result_make(&result, call->api, q)) {
		mw_reply_why(call, 500, &none);
		return;
	}
	now = moment(call, result.snapshot);
	mw_reply_form(call, MW_FORM_TSV);
	head(&call->res->body, call, &now);
	mw_render(&call->res->body, &result, MW_FORMAT_TSV);
	mw_result_free(&result, call->api);
}

void mw_page_snapshot(struct mw_call *call)
{
	struct mw_query q = { .sort = -1 };
	struct mw_buf why = { 0 };
	struct mw_params p;
	int bad = mw_params_parse(&p, call->req->query, &why);

	if (!bad)
		bad = mw_params_query(&p, &q, &why);
	if (bad)
		mw_reply_why(call, bad, &why);
	else
		answer(call, &q);
	mw_params_free(&p);
}
