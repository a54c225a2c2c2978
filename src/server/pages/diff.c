/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff.c - GET /diff: two moments compared, as TSV, CSV and JSON. diff_page.c makes the page. */
#include <string.h>
#include <unistd.h>

#include "server/http/context.h"
#include "server/report/wire.h"
#include "diff.h"

/* --- the two moments ------------------------------------------------------------------------ */

static bool end_is(const struct mw_diff_end *e, const char *word)
{
	return strlen(word) == e->n && !memcmp(e->name, word, e->n);
}

/* Reads from= or to=. usual: the word for its edge, the default. 0, or a status with a reason. */
static int read_end(struct mw_diff_end *e, struct mw_call *call, const struct mw_params *p,
		    enum mw_param param, const char *usual, struct mw_buf *why)
{
	const char *name = param == MW_PARAM_FROM ? "from" : "to";

	*e = (struct mw_diff_end){ .name = usual, .n = strlen(usual) };
	if (p->v[param].n) {
		e->name = p->v[param].s;
		e->n = p->v[param].n;
	}
	if (end_is(e, usual))
		return 0;
	if (end_is(e, "peak")) {
		const struct mw_stats *now = mw_call_stats(call);

		e->is_peak = true;
		e->t = now->peak_uptime;
		if (now->peak_bytes)
			return 0;
		mw_buf_fmt(why, "%s: no peak is known yet: the first look comes within a second", name);
		return 404;
	}
	e->is_time = mw_params_seconds(p, param, &e->t);
	if (e->is_time)
		return 0;
	e->mark = mw_marks_find(&call->req->site->marks, e->name, e->n);
	if (e->mark)
		e->t = e->mark->moment.uptime;
	return e->mark ? 0 : mw_no_such_mark(why, name, e->name, e->n);
}

static int read_ends(struct mw_diff_view *v, const struct mw_params *p, struct mw_buf *why)
{
	int bad = read_end(&v->from, v->l.call, p, MW_PARAM_FROM, "start", why);

	if (!bad)
		bad = read_end(&v->to, v->l.call, p, MW_PARAM_TO, "now", why);
	if (bad)
		return bad;
	if (!v->to.mark && !v->to.is_peak && (!v->to.is_time || v->to.t > v->source.uptime))
		v->to.t = v->source.uptime;
	if (v->from.t <= v->to.t)
		return 0;
	mw_buf_str(why, "from: must not be later than to or now");
	return 400;
}

static void set_source(struct mw_diff_view *v)
{
	struct mw_site *s = v->l.call->req->site;

	v->source = (struct mw_diff_source){ .marks = &s->marks,
					     .curves = &s->curves,
					     .api = v->l.call->api,
					     .uptime = mw_site_uptime(s),
					     .unix_time = mw_unix_now() };
}

static int compare_peak(struct mw_diff_view *v, struct mw_buf *why)
{
	const struct mw_diff_moment from = { .is_peak = v->from.is_peak, .mark = v->from.mark };
	const struct mw_diff_moment to = {
		.is_peak = v->to.is_peak, .is_now = !v->to.is_peak && !v->to.mark, .mark = v->to.mark
	};

	if (v->from.is_time || v->to.is_time) {
		mw_buf_str(why,
			   "from, to: the peak is compared with start, now and marks, not with a time");
		return 400;
	}
	return mw_diff_peak(&v->diff, &v->source, &from, &to) ? 500 : 0;
}

/* Fills v->diff. 0, or a status with a reason. */
static int compare_ends(struct mw_diff_view *v, struct mw_buf *why)
{
	const struct mw_site *s = v->l.call->req->site;
	int rc;

	if (v->from.is_peak || v->to.is_peak)
		return compare_peak(v, why);
	if (!v->from.is_time && !v->to.is_time)
		return mw_diff_make(&v->diff, &v->source, v->from.mark, v->to.mark) ? 500 : 0;
	if (!s->curves.on) {
		mw_buf_str(why, "from, to: the option history is off: name a mark");
		return 400;
	}
	rc = mw_diff_between(&v->diff, &v->source, v->from.t, v->to.t);
	return rc > 0 ? mw_unknown_time(why, s) : rc ? 500 : 0;
}

/* --- forms ------------------------------------------------------------------------------------ */

static int64_t blocks(const struct mw_diff_view *v)
{
	return (int64_t)(v->l.result.sum.live - v->l.result.sum.freed);
}

static void tsv_head(struct mw_buf *b, const struct mw_diff_view *v)
{
	mw_head_begin(b);
	mw_head_text(b, "from", v->from.name, v->from.n);
	mw_head_times(b, "from_", &v->diff.from);
	mw_head_text(b, "to", v->to.name, v->to.n);
	mw_head_times(b, "to_", &v->diff.to);
	mw_head_seconds(b, "", "seconds", v->diff.to.uptime - v->diff.from.uptime);
	mw_head_process(b, v->l.call);
	mw_head_u64(b, "exact", v->diff.exact);
	mw_head_i64(b, "growth", v->l.result.sum.growth);
	if (v->diff.exact)
		mw_head_i64(b, "growth_blocks", blocks(v));
	mw_buf_str(b, "\n");
}

static void json_end(struct mw_buf *b, const char *key, const struct mw_diff_end *e,
		     const struct mw_moment *m)
{
	mw_json_open(b, key, '{');
	mw_json_text(b, "name", e->name, e->n);
	mw_json_moment(b, m);
	mw_buf_str(b, "}");
}

static void diff_json(struct mw_buf *b, const struct mw_diff_view *v)
{
	const struct mw_site *s = v->l.call->req->site;

	mw_buf_str(b, "{");
	json_end(b, "from", &v->from, &v->diff.from);
	json_end(b, "\nto", &v->to, &v->diff.to);
	mw_json_seconds(b, "\nseconds", v->diff.to.uptime - v->diff.from.uptime);
	mw_json_i64(b, "pid", getpid());
	mw_json_str(b, "start", s->stream.start);
	mw_json_bool(b, "exact", v->diff.exact);
	mw_json_i64(b, "\ngrowth", v->l.result.sum.growth);
	if (v->diff.exact)
		mw_json_i64(b, "growth_blocks", blocks(v));
	else
		mw_json_str(b, "growth_blocks", NULL);
	mw_json_u64(b, "matched", v->l.result.matched);
	mw_json_key(b, "\nrows");
	mw_render_table(b, &mw_diff_table, v->l.result.rows, v->l.result.n, MW_FORMAT_JSON);
	mw_buf_str(b, "}\n");
}

static void answer_diff(struct mw_diff_view *v, enum mw_form form)
{
	struct mw_buf *b = &v->l.call->res->body;

	if (form == MW_FORM_HTML) {
		mw_reply_page(v->l.call, "difference", mw_html_diff, v);
		return;
	}
	mw_reply_form(v->l.call, form);
	if (form == MW_FORM_JSON) {
		diff_json(b, v);
		return;
	}
	if (form == MW_FORM_TSV)
		tsv_head(b, v);
	mw_render_table(b, &mw_diff_table, v->l.result.rows, v->l.result.n, mw_form_format(form));
}

/* --- for /all/diff ---------------------------------------------------------------------------- */

/* The rows as a tracker's, so that they travel as a table does (server/report/wire.h). */
struct travelling {
	struct mw_stats stats;
	struct mw_snapshot rows;
};

static struct mw_snapshot *rows_to_send(void)
{
	return &((struct travelling *)mw_context())->rows;
}

static void were_sent(struct mw_snapshot *s)
{
	(void)s; /* they are the difference's */
}

static void own_stats(struct mw_stats *s)
{
	*s = ((struct travelling *)mw_context())->stats;
}

static void send(struct mw_diff_view *v)
{
	const struct mw_api api = { .version = MW_API_VERSION,
				    .stats = own_stats,
				    .snapshot = rows_to_send,
				    .snapshot_free = were_sent };
	struct travelling t = { .rows = { .n = v->diff.n, .rows = v->diff.rows } };
	struct mw_response *res = v->l.call->res;

	v->l.call->api->stats(&t.stats);
	res->status = 200;
	res->content_type = MW_WIRE_TYPE;
	if (!mw_context_set(&t) || mw_wire_write(&res->body, &api, MW_WIRE_ALL, "", 0))
		res->body.failed = true;
	(void)mw_context_set(NULL);
}

void mw_page_table_diff(struct mw_call *call)
{
	struct mw_diff_view v = { .l = { .call = call, .table = &mw_diff_table } };
	int bad;

	set_source(&v);
	bad = read_ends(&v, &call->params, &call->why);
	if (!bad)
		bad = compare_ends(&v, &call->why);
	if (!mw_refused(call, bad))
		send(&v);
	mw_diff_free(&v.diff, call->api);
}

/* --- the request ------------------------------------------------------------------------------- */

int mw_diff_query(struct mw_query *q, const struct mw_params *p, enum mw_form form, struct mw_buf *why)
{
	int bad;

	*q = (struct mw_query){
		.sort = -1, .table = &mw_diff_table, .limit = form == MW_FORM_HTML ? MW_EACH_LIMIT : 0
	};
	bad = mw_params_query(p, q, why);
	if (form == MW_FORM_HTML)
		q->limit = mw_page_limit(q->limit);
	q->kind_len = 0;
	if (!bad && q->group == MW_GROUP_KIND) {
		mw_buf_str(why, "group: line, file, dir or gem expected, not \"kind\"");
		bad = 400;
	}
	return bad;
}

void mw_page_diff(struct mw_call *call)
{
	struct mw_diff_view v = { .l = { .call = call, .table = &mw_diff_table } };
	int bad;

	set_source(&v);
	bad = mw_diff_query(&v.l.q, &call->params, call->form, &call->why);
	if (!bad)
		bad = read_ends(&v, &call->params, &call->why);
	if (!bad)
		bad = compare_ends(&v, &call->why);
	if (!bad && mw_result_of(&v.l.result, v.diff.rows, v.diff.n, &v.l.q))
		bad = 500;
	if (!mw_refused(call, bad))
		answer_diff(&v, call->form);
	mw_result_free(&v.l.result, call->api);
	mw_diff_free(&v.diff, call->api);
}
