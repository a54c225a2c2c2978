/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * at.c - one location: its live blocks, by size and by age.
 *
 * /at/LOCATION, /at/LOCATION.tsv, /at?location=LOCATION&format=tsv,
 * /at.tsv?location=LOCATION. An existing location that ends in ".tsv" wins over
 * the suffix; format= forces the form. A short id (mw_location_short) works,
 * too: links have it if the location is too long for a URL.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/report/columns.h"
#include "pages.h"

struct view {
	struct mw_call *call;
	struct mw_at at;
	struct mw_called called; /* not for TSV and CSV */
	uint64_t limit, oldest; /* of JSON; 0: all, none */
};

/* --- the page ------------------------------------------------------------- */

static void many(struct mw_buf *b, uint64_t n, const char *one, const char *more)
{
	mw_buf_commas(b, n);
	mw_buf_str(b, " ");
	mw_buf_str(b, n == 1 ? one : more);
}

/* "12 blocks are live here, 3.38 KB: 1.00 KB more than at the start ..." */
static void at_summary(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	const struct mw_row *r = v->at.row;
	const char *since = v->at.stats.resets ? "the last reset" : "the start";
	uint64_t grown = r->growth < 0 ? 0 - (uint64_t)r->growth : (uint64_t)r->growth;

	many(b, r->live, "block is live here, ", "blocks are live here, ");
	mw_html_bytes(b, r->live_bytes, false);
	if (r->growth) {
		mw_buf_str(b, ": ");
		mw_html_bytes(b, grown, false);
		mw_buf_fmt(b, " %s than at %s", r->growth < 0 ? "less" : "more", since);
	} else {
		mw_buf_fmt(b, ", as many as at %s", since);
	}
	mw_buf_str(b, ". ");
	if (!r->frees) {
		mw_buf_fmt(b, "Nothing was freed since %s.", since);
		return;
	}
	mw_buf_fmt(b, "Since %s ", since);
	many(b, r->frees, "block was freed", "blocks were freed");
	mw_buf_str(b, ", after at most ");
	if (mw_life_in_bytes(v->call)) {
		mw_html_bytes(b, r->life_max, false);
		mw_buf_str(b, " allocated meanwhile.");
	} else {
		many(b, r->life_max, "garbage collection.", "garbage collections.");
	}
}

/* A column of a kind that isn't known says nothing. */
static bool has_column(int i, const struct mw_row *r)
{
	bool of_kind = mw_columns[i].type == MW_TYPE_KIND || i == MW_COLUMN_kind_samples;

	return mw_column_is_of(i, r) && mw_columns[i].type != MW_TYPE_TEXT && (!of_kind || r->top_share);
}

static void at_head(struct mw_buf *b, void *ctx)
{
	const struct mw_row *r = ((const struct view *)ctx)->at.row;

	for (int i = 0; i < MW_ALL_COLUMNS_N; i++) {
		if (!has_column(i, r))
			continue;
		mw_html_text_in(b, "<th scope=\"col\" class=\"num\" title=\"", mw_columns[i].about, "\">");
		mw_html_text(b, mw_columns[i].title);
		mw_buf_str(b, "</th>\n");
	}
}

static void cells(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (int i = 0; i < MW_ALL_COLUMNS_N; i++)
		if (has_column(i, v->at.row))
			mw_html_cell(b, v->call, &mw_columns[i], v->at.row, false);
}

static void at_location_name(struct mw_buf *b, void *ctx)
{
	const struct mw_row *r = ((const struct view *)ctx)->at.row;

	mw_html_location(b, r->location, r->location_len);
}

static void byte_range(struct mw_buf *b, const struct mw_bucket *k)
{
	if (k->to == k->from)
		mw_html_bytes(b, k->from, false);
	else
		mw_html_byte_range(b, k->from, k->to);
}

/* bytes: the buckets' bounds are bytes, too */
static void buckets(struct mw_buf *b, const struct mw_bucket *k, size_t n, bool bytes)
{
	for (size_t i = 0; i < n; i++) {
		mw_buf_str(b, "<tr><th scope=\"row\" class=\"num\">");
		if (bytes)
			byte_range(b, &k[i]);
		else
			mw_buf_commas(b, k[i].from);
		if (!bytes && k[i].to != k[i].from) {
			mw_buf_str(b, "\xe2\x80\x93");
			mw_buf_commas(b, k[i].to);
		}
		mw_buf_str(b, "</th>");
		mw_html_number(b, k[i].count);
		mw_html_bytes_cell(b, k[i].bytes);
		mw_buf_str(b, "</tr>\n");
	}
	if (!n)
		mw_buf_str(b, "<tr><td class=\"empty\" colspan=\"3\">Nothing is live.</td></tr>\n");
}

/* Where allocations are sampled, the samples alone are known: in the lists each stands for itself. */
static bool of_samples(const struct view *v)
{
	return v->at.row->live_samples != 0;
}

static void listed_blocks(struct mw_buf *b, void *ctx)
{
	mw_buf_str(b, of_samples(ctx) ? "Sampled live blocks" : "Live blocks");
}

static void by_size(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	buckets(b, v->at.by_size, v->at.n_size, true);
}

static void by_age(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	buckets(b, v->at.by_age, v->at.n_age, mw_life_in_bytes(v->call));
}

static void live_head(struct mw_buf *b, void *unused)
{
	(void)unused;
	for (int i = 0; i < MW_LIVE_COLUMNS_N; i++) {
		mw_html_text_in(b, "<th scope=\"col\" class=\"num\" title=\"", mw_live_columns[i].about,
				"\">");
		mw_html_text(b, mw_live_columns[i].title);
		mw_buf_str(b, "</th>\n");
	}
}

static size_t shown(const struct view *v)
{
	return v->at.lives->n < MW_AT_LIMIT ? v->at.lives->n : MW_AT_LIMIT;
}

static void lives(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (size_t i = 0; i < shown(v); i++) {
		const struct mw_live *l = &v->at.lives->v[i];

		mw_buf_str(b, "<tr>");
		mw_html_bytes_cell(b, l->size);
		mw_html_number(b, l->generation);
		if (mw_life_in_bytes(v->call))
			mw_html_bytes_cell(b, mw_live_age(&v->at, l));
		else
			mw_html_number(b, mw_live_age(&v->at, l));
		mw_buf_fmt(b, "<td class=\"num address\">0x%" PRIxPTR "</td></tr>\n", l->addr);
	}
	if (!shown(v))
		mw_buf_str(b, "<tr><td class=\"empty\" colspan=\"4\">Nothing is live.</td></tr>\n");
}

static void lives_caption(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (shown(v) < v->at.lives->n) {
		mw_html_commas_in(b, "The newest ", shown(v), " of ");
		many(b, v->at.lives->n, of_samples(v) ? "sampled live block" : "live block",
		     of_samples(v) ? "sampled live blocks" : "live blocks");
	} else {
		listed_blocks(b, ctx);
		mw_buf_str(b, ", newest first");
	}
}

static void at_exports(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (int f = MW_FORM_TSV; f <= MW_FORM_JSON; f++) {
		mw_buf_str(b, "<a ");
		mw_html_at_href(b, v->call, v->at.row,
				f == MW_FORM_TSV ? ".tsv" :
				f == MW_FORM_CSV ? ".csv" :
						   ".json");
		mw_buf_fmt(b, ">%s</a> ", f == MW_FORM_TSV ? "TSV" : f == MW_FORM_CSV ? "CSV" : "JSON");
	}
}

static void holders(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_html_holders_href(b, v->call, v->at.row, "");
}

static void age_unit(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_buf_str(b, mw_life_in_bytes(v->call) ? "bytes allocated since" : "garbage collections since");
}

static void objects(struct mw_buf *b, void *ctx)
{
	mw_html_objects(b, &((const struct view *)ctx)->at);
}

static void called(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_html_called(b, &v->called, v->call, v->at.row);
}

static void at_page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "location", .fill = at_location_name, .ctx = v },
		{ .name = "summary", .fill = at_summary, .ctx = v },
		{ .name = "head", .fill = at_head, .ctx = v },
		{ .name = "cells", .fill = cells, .ctx = v },
		{ .name = "listed_blocks", .fill = listed_blocks, .ctx = v },
		{ .name = "by_size", .fill = by_size, .ctx = v },
		{ .name = "by_age", .fill = by_age, .ctx = v },
		{ .name = "age_unit", .fill = age_unit, .ctx = v },
		{ .name = "live_head", .fill = live_head, .ctx = v },
		{ .name = "lives", .fill = lives, .ctx = v },
		{ .name = "lives_caption", .fill = lives_caption, .ctx = v },
		{ .name = "exports", .fill = at_exports, .ctx = v },
		{ .name = "called", .fill = called, .ctx = v },
		{ .name = "objects", .fill = objects, .ctx = v },
		{ .name = "holders", .fill = holders, .ctx = v },
	};

	mw_template(b, "at.html", slots, sizeof(slots) / sizeof(slots[0]));
}

/* --- finding it ----------------------------------------------------------- */

struct wanted {
	char *store;   /* owned */
	const char *s; /* the location as given, decoded */
	size_t n;
	enum mw_form form;
	bool form_given; /* by format= or /at.tsv: a suffix then belongs to the location */
};

/* 0, 400 or 404 with a reason, 500 */
static int from_path(struct mw_call *call, struct wanted *w, struct mw_buf *why)
{
	size_t n = strlen(call->rest);
	long len;

	w->store = malloc(n + 1);
	if (!w->store)
		return 500;
	len = mw_percent_decode(call->rest, n, w->store, false);
	if (len < 0) {
		mw_buf_str(why, "/at/LOCATION: broken percent-encoding, or a NUL byte");
		return 400;
	}
	w->s = w->store;
	w->n = (size_t)len;
	return 0;
}

static int understand(struct mw_call *call, const struct mw_params *p, struct wanted *w, struct mw_buf *why)
{
	bool slash = !strncmp(call->req->path, "/at/", 4);
	int bad = mw_params_form(p, &w->form, why);

	w->form_given = p->v[MW_PARAM_FORMAT].n > 0;
	if (!bad && !slash && *call->rest) { /* /at.tsv */
		w->form_given = true;
		if (!mw_form_find(call->rest, strlen(call->rest), &w->form)) {
			mw_buf_str(why, "no such page");
			return 404;
		}
	}
	if (bad)
		return bad;
	if (slash && *call->rest)
		return from_path(call, w, why);
	w->s = p->v[MW_PARAM_LOCATION].s;
	w->n = p->v[MW_PARAM_LOCATION].n;
	if (w->n)
		return 0;
	mw_buf_str(why, "location: missing; ask for /at/LOCATION or /at?location=LOCATION");
	return 400;
}

/* Looks s up, then also with a slash in front: a proxy may have folded "//" to "/". */
static int make_at_location(struct mw_call *call, struct mw_at *at, const char *s, size_t n)
{
	int ret = mw_at_make(at, call->api, s, n);
	char *t;

	if (ret != 1 || !n || s[0] == '/')
		return ret;
	t = malloc(n + 1);
	if (!t)
		return -1;
	t[0] = '/';
	memcpy(t + 1, s, n);
	ret = mw_at_make(at, call->api, t, n + 1);
	free(t);
	return ret;
}

static int find_wanted_location(struct mw_call *call, struct mw_at *at, struct wanted *w, struct mw_buf *why)
{
	int ret = make_at_location(call, at, w->s, w->n);

	if (ret == 1 && !w->form_given) {
		size_t n = mw_form_suffix(w->s, w->n, &w->form);

		if (n < w->n)
			ret = make_at_location(call, at, w->s, n);
	}
	if (ret < 0)
		return 500;
	if (!ret)
		return 0;
	mw_buf_str(why, ret == 2 ? "several locations have this id: ask for one by its name" :
				   "no such location: nothing was allocated there");
	return ret == 2 ? 409 : 404;
}

static void as_json(struct view *v)
{
	struct mw_buf more = { 0 };

	mw_json_objects(&more, &v->at);
	if (v->called.kept) {
		mw_buf_str(&more, ",\n\"called_by\":");
		mw_called_by_json(&more, &v->called.callers, &v->called.profile);
	}
	mw_render_at_part(&v->call->res->body, &v->at, v->limit, v->oldest, &more);
	mw_buf_free(&more);
}

static void answer_at(struct view *v, enum mw_form form)
{
	struct mw_call *call = v->call;
	bool lines = form == MW_FORM_TSV || form == MW_FORM_CSV;

	if (!lines && !mw_called_make(&v->called, call->api, &v->at)) {
		mw_response_no_memory(call->res);
		return;
	}
	if (form == MW_FORM_HTML) {
		/* the live page, at this location; the sum of a family has none */
		call->script = (call->req->site || call->req->later) && !mw_call_stats(call)->processes ?
				       "home" :
				       "at";
		mw_reply_page(call, v->at.row->location, at_page, v);
	} else {
		mw_reply_form(call, form);
		if (lines)
			mw_render_at(&call->res->body, &v->at, mw_form_format(form));
		else
			as_json(v);
	}
	mw_called_free(&v->called, call->api);
}

void mw_page_at(struct mw_call *call)
{
	struct view *v = calloc(1, sizeof(*v)); /* some KiB: too large for a small stack */
	struct wanted w = { .form = MW_FORM_HTML };
	int bad = v ? understand(call, &call->params, &w, &call->why) : 500;

	if (!bad)
		bad = mw_params_part(&call->params, &v->limit, &v->oldest, &call->why);
	if (!bad)
		bad = find_wanted_location(call, &v->at, &w, &call->why);
	if (!mw_refused(call, bad)) {
		v->call = call;
		answer_at(v, w.form);
		mw_at_free(&v->at, call->api);
	}
	free(w.store);
	free(v);
}
