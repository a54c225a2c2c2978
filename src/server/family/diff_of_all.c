/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_of_all.c - GET /all/diff.tsv, .csv and .json: what grew between two moments in all processes together.
 *
 * Each process compares its own two moments, of which every one that takes part has both. Marks of one
 * name that were set by POST /all/mark are at about the same time. There is no page of it: each process
 * has its own list of marks to choose from.
 */
#include <string.h>

#include "server/pages/diff.h"
#include "gather.h"
#include "shared/text/json.h"

struct sum {
	size_t done, of; /* processes that have both moments, of all */
	struct mw_result result;
	const char *names[2];
	size_t lens[2];
};

static void all_diff_head(struct mw_buf *b, const struct sum *s)
{
	mw_head_begin(b);
	mw_head_text(b, "from", s->names[0], s->lens[0]);
	mw_head_text(b, "to", s->names[1], s->lens[1]);
	mw_head_u64(b, "processes", s->done);
	mw_head_u64(b, "of", s->of);
	mw_head_u64(b, "exact", 1);
	mw_head_i64(b, "growth", s->result.sum.growth);
	mw_head_i64(b, "growth_blocks", (int64_t)(s->result.sum.live - s->result.sum.freed));
	mw_buf_str(b, "\n");
}

static void all_diff_json(struct mw_buf *b, const struct sum *s)
{
	mw_buf_str(b, "{");
	for (int end = 0; end < 2; end++) {
		mw_json_open(b, end ? "\nto" : "from", '{');
		mw_json_text(b, "name", s->names[end], s->lens[end]);
		mw_buf_str(b, "}");
	}
	mw_json_u64(b, "\nprocesses", s->done);
	mw_json_u64(b, "of", s->of);
	mw_json_bool(b, "exact", true);
	mw_json_i64(b, "\ngrowth", s->result.sum.growth);
	mw_json_i64(b, "growth_blocks", (int64_t)(s->result.sum.live - s->result.sum.freed));
	mw_json_u64(b, "matched", s->result.matched);
	mw_json_key(b, "\nrows");
	mw_render_table(b, &mw_diff_table, s->result.rows, s->result.n, MW_FORMAT_JSON);
	mw_buf_str(b, "}\n");
}

static void answer_all_diff(struct mw_call *call, const struct sum *s, enum mw_form form)
{
	struct mw_buf *b = &call->res->body;

	mw_reply_form(call, form);
	if (form == MW_FORM_JSON) {
		all_diff_json(b, s);
		return;
	}
	if (form == MW_FORM_TSV)
		all_diff_head(b, s);
	mw_render_table(b, &mw_diff_table, s->result.rows, s->result.n, mw_form_format(form));
}

/* Adds up the rows of all, and chooses among them. 0; -1: no memory. */
static int add_up(struct sum *s, const struct mw_gathered *g, const struct mw_api *own,
		  const struct mw_query *q)
{
	const struct mw_api *api = mw_sum_api(g->parts, g->answered, own);
	const struct mw_snapshot *rows = api ? api->snapshot() : NULL;

	return rows ? mw_result_of(&s->result, rows->rows, rows->n, q) : -1;
}

/* Reads from= and to=. 0, or 400 with a reason. */
static int read_names(struct sum *s, const struct mw_params *p, struct mw_buf *why)
{
	static const enum mw_param params[] = { MW_PARAM_FROM, MW_PARAM_TO };
	static const char *const usual[] = { "start", "now" };
	double t;

	for (int i = 0; i < 2; i++) {
		bool given = p->v[params[i]].n;

		s->names[i] = given ? p->v[params[i]].s : usual[i];
		s->lens[i] = given ? p->v[params[i]].n : strlen(usual[i]);
		if (!mw_params_seconds(p, params[i], &t))
			continue;
		mw_buf_str(why, "from, to: seconds of uptime are of one process: use /PID/diff");
		return 400;
	}
	return 0;
}

static int gather(struct sum *s, struct mw_gathered *g, const struct mw_family *f,
		  const struct mw_api *api, struct mw_buf *why)
{
	struct mw_buf query = { 0 };
	int rc;

	mw_buf_str(&query, "from=");
	mw_percent_encode(&query, s->names[0], s->lens[0]);
	mw_buf_str(&query, "&to=");
	mw_percent_encode(&query, s->names[1], s->lens[1]);
	mw_buf_add(&query, "", 1);
	rc = query.failed || mw_gather(g, f, api, MW_WIRE_DIFF, query.p) ? 500 : 0;
	mw_buf_free(&query);
	if (rc)
		return rc;
	s->done = g->answered;
	s->of = g->n;
	if (s->done)
		return 0;
	mw_buf_str(why,
		   "from, to: no process has these two moments in this order: /PID/marks lists its marks");
	return 404;
}

void mw_page_all_diff(struct mw_call *call, const struct mw_family *f, const char *rest)
{
	struct mw_gathered g = { 0 };
	struct sum s = { 0 };
	struct mw_params *p = &call->params;
	struct mw_buf *why = &call->why;
	struct mw_query q;
	int bad = mw_params_parse(p, call->req->query, why);

	if (!bad)
		bad = mw_params_form_of(p, *rest ? rest + 1 : rest, &call->form, why);
	if (!bad)
		bad = mw_diff_query(&q, p, call->form, why);
	if (!bad && call->form == MW_FORM_HTML) {
		mw_buf_str(why, "no such page of all processes: use /all/diff.tsv, .csv or .json");
		bad = 404;
	}
	if (!bad)
		bad = read_names(&s, p, why);
	if (!bad)
		bad = gather(&s, &g, f, call->api, why);
	if (!bad && add_up(&s, &g, call->api, &q))
		bad = 500;
	if (!mw_refused(call, bad))
		answer_all_diff(call, &s, call->form);
	mw_result_free(&s.result, call->api);
	mw_sum_end();
	mw_gathered_free(&g);
	mw_params_free(p);
	mw_buf_free(why);
}
