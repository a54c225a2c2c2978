/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * each.c - the table of locations: /each/MIN in every form, and the home page:
 * that table by growth, below the process's facts.
 */
#include <inttypes.h>
#include <string.h>

#include "listing.h"

enum { TAIL = MW_LINK_MAX / 3 }; /* bytes; percent-encoded at most MW_LINK_MAX */

struct view {
	struct mw_listing l; /* the first: slots of listing.h get the view */
	bool home;
	bool kinds; /* has any row one? */
};

/* --- links ---------------------------------------------------------------- */

/* Appends href="..." of /each for *q; forms other than HTML go without limit and offset. */
static bool address(struct mw_buf *b, const struct mw_listing *l, const struct mw_query *q,
		    enum mw_form form)
{
	(void)l;
	mw_buf_fmt(b, "/each/%" PRIu64, q->min);
	if (form != MW_FORM_HTML)
		mw_buf_fmt(b, ".%s", mw_form_name(form));
	return false;
}

/* --- the table ------------------------------------------------------------ */

/* A kind that no row here has, or that is each row's name, says nothing. */
static bool has_column(const struct view *v, int i)
{
	const struct mw_result *res = &v->l.result;

	if (!mw_column_is_in(i, res->snapshot->family, res->snapshot->kinds))
		return false;
	return mw_columns[i].type == MW_TYPE_KIND ? v->kinds && v->l.q.group != MW_GROUP_KIND :
	       i == MW_COLUMN_kind_samples        ? v->kinds :
						    true;
}

static void cells(struct mw_buf *b, const struct view *v, const struct mw_row *r)
{
	for (int i = 0; i < MW_ALL_COLUMNS_N; i++)
		if (has_column(v, i) && mw_columns[i].type != MW_TYPE_TEXT)
			mw_html_cell(b, v->l.call, &mw_columns[i], r, i == mw_listing_sort(&v->l));
}

static bool any_kind(const struct mw_result *res)
{
	for (size_t i = 0; i < res->n; i++)
		if (res->rows[i].top_share)
			return true;
	return false;
}

static void each_table_head(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (int i = 0; i < MW_ALL_COLUMNS_N; i++)
		if (has_column(v, i) && mw_columns[i].type != MW_TYPE_TEXT)
			mw_listing_header(b, &v->l, i);
	for (int i = 0; i < MW_COLUMNS_N; i++)
		if (mw_columns[i].type == MW_TYPE_TEXT)
			mw_listing_header(b, &v->l, i);
}

/* A group's rows: of a file its lines, of a folder its files, of a kind the lines that have it. */
static void parts_href(struct mw_buf *b, const struct view *v, const struct mw_row *r)
{
	struct mw_query q = v->l.q;

	q.offset = 0;
	q.group = v->l.q.group == MW_GROUP_DIR ? MW_GROUP_FILE : MW_GROUP_LINE;
	if (v->l.q.group == MW_GROUP_KIND) {
		q.kind = r->location;
		q.kind_len = r->location_len;
		mw_listing_href(b, &v->l, &q, MW_FORM_HTML);
		return;
	}
	/* a long location by its end, which says most */
	q.q_len = r->location_len < TAIL ? r->location_len : TAIL;
	q.q = r->location + r->location_len - q.q_len;
	while (q.q_len < r->location_len && ((unsigned char)*q.q & 0xc0) == 0x80 && q.q_len > 1) {
		q.q++; /* skips the rest of a character that was cut */
		q.q_len--;
	}
	mw_listing_href(b, &v->l, &q, MW_FORM_HTML);
}

/* Links to a line's page, or to a group's rows; a gem has no page of its own. */
static void each_location_cell(struct mw_buf *b, const struct view *v, const struct mw_row *r)
{
	bool link = v->l.q.group != MW_GROUP_GEM;

	mw_buf_str(b, link ? "<td class=\"location\"><a " : "<td class=\"location\">");
	if (v->l.q.group == MW_GROUP_LINE)
		mw_html_at_href(b, v->l.call, r, "");
	else if (link)
		parts_href(b, v, r);
	mw_buf_str(b, link ? ">" : "");
	mw_html_location(b, r->location, r->location_len);
	mw_buf_str(b, link ? "</a></td>" : "</td>");
}

static const char *why_no_row(const struct view *v)
{
	if (v->l.result.matched)
		return "No row is left at this offset.";
	if (v->l.q.kind_len)
		return "No location has memory of that kind.";
	return v->l.q.q_len ? "No location matches." : "No location has that much.";
}

static void each_table_rows(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	int columns = 0;

	for (int i = 0; i < MW_ALL_COLUMNS_N; i++)
		columns += has_column(v, i);
	for (size_t i = 0; i < v->l.result.n; i++) {
		mw_buf_str(b, "<tr>");
		cells(b, v, &v->l.result.rows[i]);
		each_location_cell(b, v, &v->l.result.rows[i]);
		mw_buf_str(b, "</tr>\n");
	}
	if (!v->l.result.n)
		mw_buf_fmt(b, "<tr><td class=\"empty\" colspan=\"%d\">%s</td></tr>\n", columns,
			   why_no_row(v));
}

static void sum(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	cells(b, v, &v->l.result.sum);
	mw_listing_sum(b, &v->l);
}

static const char *things(const struct view *v)
{
	static const char *const names[] = { "Locations", "Files", "Folders", "Gems", "Kinds" };

	return names[v->l.q.group];
}

static void caption(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_buf_str(b, things(v));
	mw_listing_range(b, ctx);
	if (v->l.q.min) {
		mw_html_commas_in(b, " with more than ", v->l.q.min, " bytes in total, live or of objects");
	}
	if (v->l.q.q_len) {
		mw_buf_str(b, " matching \xe2\x80\x9c");
		mw_buf_html(b, v->l.q.q, v->l.q.q_len);
		mw_buf_str(b, "\xe2\x80\x9d");
	}
	if (v->l.q.kind_len) {
		mw_buf_str(b, ", their part of the kind \xe2\x80\x9c");
		mw_buf_html(b, v->l.q.kind, v->l.q.kind_len);
		mw_buf_str(b, "\xe2\x80\x9d");
	}
	mw_listing_by(b, &v->l);
}

/* --- around it ------------------------------------------------------------ */

/* A field for the kind, where there are kinds. */
static void kind_field(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (!v->l.q.kinds)
		return;
	mw_buf_str(b, "<label>Kind <input name=\"kind\" value=\"");
	mw_buf_html(b, v->l.q.kind, v->l.q.kind_len);
	mw_buf_str(b, "\"></label>\n");
}

static void min_value(struct mw_buf *b, void *ctx)
{
	mw_buf_u64(b, ((const struct view *)ctx)->l.q.min);
}

static void each_html_page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->l.call->req->base },
		{ .name = "heading", .text = v->home ? "Growing locations" : things(v) },
		{ .name = "past", .fill = v->home ? mw_html_past : NULL, .ctx = v->l.call },
		{ .name = "facts", .fill = v->home ? mw_html_facts : NULL, .ctx = v->l.call },
		{ .name = "controls", .fill = v->home ? mw_html_controls : NULL, .ctx = v->l.call },
		{ .name = "hidden", .fill = mw_listing_hidden, .ctx = v },
		{ .name = "q", .fill = mw_listing_q, .ctx = v },
		{ .name = "min", .fill = min_value, .ctx = v },
		{ .name = "limit", .fill = mw_listing_limit, .ctx = v },
		{ .name = "groups", .fill = mw_listing_groups, .ctx = v },
		{ .name = "kind", .fill = kind_field, .ctx = v },
		{ .name = "caption", .fill = caption, .ctx = v },
		{ .name = "head", .fill = each_table_head, .ctx = v },
		{ .name = "rows", .fill = each_table_rows, .ctx = v },
		{ .name = "sum", .fill = sum, .ctx = v },
		{ .name = "pager", .fill = mw_listing_pager, .ctx = v },
		{ .name = "exports", .fill = mw_listing_exports, .ctx = v },
	};

	mw_template(b, "each.html", slots, sizeof(slots) / sizeof(slots[0]));
}

static void answer_each(struct view *v, enum mw_form form)
{
	struct mw_call *call = v->l.call;
	const struct mw_stats *stats = mw_call_stats(call);

	v->l.q.kinds = stats->stacks_rate || stats->stacks;
	if (mw_result_make(&v->l.result, call->api, &v->l.q)) {
		mw_response_no_memory(call->res);
		return;
	}
	v->kinds = any_kind(&v->l.result);
	if (form == MW_FORM_HTML) {
		mw_reply_page(call, v->home ? "growth" : things(v), each_html_page, v);
	} else {
		mw_reply_form(call, form);
		mw_render(&call->res->body, &v->l.result, mw_form_format(form));
	}
	mw_result_free(&v->l.result, call->api);
}

/* The last part of the path: MIN or MIN.tsv. 0, 400 or 500. */
static int take_min(const char *rest, struct view *v, enum mw_form *form, struct mw_buf *why)
{
	size_t n = strlen(rest), len = mw_form_suffix(rest, n, form);

	if (!n || mw_parse_u64(rest, len, &v->l.q.min))
		return 0;
	mw_buf_str(why, "/each/MIN: MIN must be a number of bytes, then .tsv, .csv, .json or nothing");
	return 400;
}

static struct mw_listing listing(struct mw_call *call, int sort)
{
	return (struct mw_listing){
		.call = call, .table = &mw_all_table, .q = { .sort = sort }, .address = address
	};
}

void mw_page_each(struct mw_call *call)
{
	struct view v = { .l = listing(call, -1) };
	int bad = mw_params_form(&call->params, &call->form, &call->why);

	if (!bad)
		bad = take_min(call->rest, &v, &call->form, &call->why);
	v.l.q.limit = call->form == MW_FORM_HTML ? MW_EACH_LIMIT : 0;
	if (!bad)
		bad = mw_params_query(&call->params, &v.l.q, &call->why);
	if (call->form == MW_FORM_HTML)
		v.l.q.limit = mw_page_limit(v.l.q.limit);
	if (!mw_refused(call, bad))
		answer_each(&v, call->form);
}

void mw_page_home(struct mw_call *call)
{
	struct view v = { .l = listing(call, mw_column_find("growth", 6)), .home = true };

	v.l.q.limit = MW_HOME_LIMIT;
	if (mw_call_stats(call)->processes)
		call->script = "all";
	else if (call->req->site) /* /live, which the script reads, needs a site */
		call->script = "home";
	answer_each(&v, MW_FORM_HTML);
}
