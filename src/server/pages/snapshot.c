/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.c - GET /snapshot.tsv: what /each/0.tsv has, below a line that says of which process and
 * moment it is. With mark= it is what a mark keeps of each location.
 */
#include <stdlib.h>
#include <string.h>

#include "pages.h"

/* peak: its uptime; 0: none is told. */
static void snapshot_head(struct mw_buf *b, const struct mw_call *call, const char *mark,
			  const struct mw_moment *m, double peak)
{
	mw_head_begin(b);
	mw_head_text(b, "mark", mark, strlen(mark));
	mw_head_times(b, "", m);
	mw_head_process(b, call);
	mw_head_moment(b, m);
	if (peak > 0)
		mw_head_seconds(b, "", "peak_uptime", peak);
	mw_buf_str(b, "\n");
}

/* --- now ---------------------------------------------------------------------------------- */

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

static void answer_snapshot(struct mw_call *call, struct mw_query *q)
{
	struct mw_result result;
	struct mw_stats stats = { 0 };
	struct mw_moment now;

	call->api->stats(&stats);
	q->kinds = stats.stacks_rate || stats.stacks;
	if (mw_result_make(&result, call->api, q)) {
		mw_response_no_memory(call->res);
		return;
	}
	now = moment(call, result.snapshot);
	mw_reply_form(call, MW_FORM_TSV);
	snapshot_head(&call->res->body, call, "", &now,
		      stats.peak_bytes && !stats.processes ? stats.peak_uptime : 0);
	mw_render(&call->res->body, &result, MW_FORMAT_TSV);
	mw_result_free(&result, call->api);
}

/* --- a mark ------------------------------------------------------------------------------- */

enum { KEPT = 8 };

/* The columns that a mark has. */
static struct mw_table kept_columns(struct mw_column to[KEPT])
{
	static const char *const names[KEPT] = { "allocations", "frees",   "live_bytes",   "live",
						 "location",    "objects", "object_bytes", "object_error" };

	for (int i = 0; i < KEPT; i++)
		to[i] = mw_columns[mw_column_find(names[i], strlen(names[i]))];
	return (struct mw_table){ .columns = to, .n = KEPT, .sort = 2 };
}

/* The rows of a mark, malloc'ed; NULL: no memory. */
static struct mw_row *rows_of(const struct mw_marks *marks, const struct mw_named_mark *mark)
{
	struct mw_marks_numbers *v = mw_marks_read(marks, mark);
	struct mw_row *rows = calloc((size_t)marks->places + 1, sizeof(*rows));

	for (uint32_t i = 0; v && rows && i < marks->places; i++) {
		rows[i] = mw_marks_row(mw_marks_place(marks, i));
		mw_marks_numbers_set(&v[i], &rows[i]);
	}
	if (!v) {
		free(rows);
		rows = NULL;
	}
	free(v);
	return rows;
}

static int answer_mark(struct mw_call *call, const struct mw_query *q, const struct mw_named_mark *mark)
{
	const struct mw_marks *marks = &call->req->site->marks;
	struct mw_row *rows = rows_of(marks, mark);
	struct mw_result result;

	if (!rows || mw_result_of(&result, rows, marks->places, q)) {
		free(rows);
		return 500;
	}
	mw_reply_form(call, MW_FORM_TSV);
	snapshot_head(&call->res->body, call, mark->name, &mark->moment, 0);
	mw_render_table(&call->res->body, q->table, result.rows, result.n, MW_FORMAT_TSV);
	mw_result_free(&result, call->api);
	free(rows);
	return 0;
}

static void of_mark(struct mw_call *call)
{
	const struct mw_params *p = &call->params;
	const char *name = p->v[MW_PARAM_MARK].s;
	size_t n = p->v[MW_PARAM_MARK].n;
	struct mw_column columns[KEPT];
	struct mw_table table = kept_columns(columns);
	struct mw_query q = { .sort = -1, .table = &table };
	const struct mw_named_mark *mark;
	int bad;

	if (!mw_has_site(call))
		return;
	bad = mw_params_query(p, &q, &call->why);
	mark = mw_marks_find(&call->req->site->marks, name, n);
	q.kind_len = 0;
	if (!bad)
		bad = mark ? answer_mark(call, &q, mark) : mw_no_such_mark(&call->why, "mark", name, n);
	(void)mw_refused(call, bad);
}

void mw_page_snapshot(struct mw_call *call)
{
	struct mw_query q = { .sort = -1 };

	if (call->params.v[MW_PARAM_MARK].n)
		of_mark(call);
	else if (!mw_refused(call, mw_params_query(&call->params, &q, &call->why)))
		answer_snapshot(call, &q);
}
