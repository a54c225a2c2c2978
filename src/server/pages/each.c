/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * each.c - the table of locations: /each/MIN in every form, and the home page:
 * that table by growth, below the process's facts.
 */
#include <inttypes.h>
#include <string.h>

#include "shared/report/columns.h"
#include "pages.h"

enum { TAIL = MW_LINK_MAX / 3 }; /* bytes; percent-encoded at most MW_LINK_MAX */

struct view {
	struct mw_call *call;
	struct mw_query q;
	struct mw_result result;
	bool home;
};

/* --- links ---------------------------------------------------------------- */

/* Appends "?" or "&amp;" and NAME=; the caller appends the value. */
static void param(struct mw_buf *b, unsigned *n, const char *name)
{
	mw_buf_str(b, (*n)++ ? "&amp;" : "?");
	mw_buf_str(b, name);
	mw_buf_str(b, "=");
}

static void param_u64(struct mw_buf *b, unsigned *n, const char *name, uint64_t v)
{
	param(b, n, name);
	mw_buf_u64(b, v);
}

/* Appends href="..." of /each for *q; forms other than HTML go without limit and offset. */
static void href(struct mw_buf *b, const struct view *v, const struct mw_query *q, enum mw_form form)
{
	unsigned n = 0;

	mw_buf_str(b, "href=\"");
	mw_html_text(b, v->call->req->base);
	mw_buf_fmt(b, "/each/%" PRIu64, q->min);
	if (form != MW_FORM_HTML)
		mw_buf_fmt(b, ".%s", mw_form_name(form));
	if (q->sort >= 0) {
		param(b, &n, "sort");
		mw_buf_str(b, mw_columns[q->sort].name);
	}
	if (q->order) {
		param(b, &n, "order");
		mw_buf_str(b, q->order < 0 ? "desc" : "asc");
	}
	if (q->group != MW_GROUP_LINE) {
		param(b, &n, "group");
		mw_buf_str(b, mw_params_group(q->group));
	}
	if (q->q_len) {
		param(b, &n, "q");
		mw_percent_encode(b, q->q, q->q_len);
	}
	if (q->kind_len) {
		param(b, &n, "kind");
		mw_percent_encode(b, q->kind, q->kind_len);
	}
	if (form == MW_FORM_HTML && q->limit != MW_EACH_LIMIT)
		param_u64(b, &n, "limit", q->limit);
	if (form == MW_FORM_HTML && q->offset)
		param_u64(b, &n, "offset", q->offset);
	mw_buf_str(b, "\"");
}

/* --- the table ------------------------------------------------------------ */

static bool has_column(const struct view *v, int i)
{
	return mw_column_is_in(i, v->result.snapshot->family, v->result.snapshot->kinds);
}

static int sorted_by(const struct view *v)
{
	return v->q.sort >= 0 ? v->q.sort : MW_COLUMN_DEFAULT;
}

static int order_of(const struct view *v)
{
	return v->q.order ? v->q.order : mw_columns[sorted_by(v)].order;
}

/* A header links to the table by its column; the present column's reverses the order. */
static void header(struct mw_buf *b, const struct view *v, int i)
{
	const struct mw_column *c = &mw_columns[i];
	struct mw_query q = v->q;
	int order = i == sorted_by(v) ? order_of(v) : 0;

	q.sort = i;
	q.order = -order;
	if (q.order == c->order)
		q.order = 0;
	q.offset = 0;
	mw_html_column_begin(b, c, order);
	href(b, v, &q, MW_FORM_HTML);
	mw_html_column_end(b, c, order);
}

static void head(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (int i = 0; i < MW_ALL_COLUMNS_N; i++)
		if (has_column(v, i) && mw_columns[i].type != MW_TYPE_TEXT)
			header(b, v, i);
	for (int i = 0; i < MW_COLUMNS_N; i++)
		if (mw_columns[i].type == MW_TYPE_TEXT)
			header(b, v, i);
}

/* A group's rows: of a file its lines, of a folder its files, of a kind the lines that have it. */
static void parts_href(struct mw_buf *b, const struct view *v, const struct mw_row *r)
{
	struct mw_query q = v->q;

	q.offset = 0;
	q.group = v->q.group == MW_GROUP_DIR ? MW_GROUP_FILE : MW_GROUP_LINE;
	if (v->q.group == MW_GROUP_KIND) {
		q.kind = r->location;
		q.kind_len = r->location_len;
		href(b, v, &q, MW_FORM_HTML);
		return;
	}
	/* a long location by its end, which says most */
	q.q_len = r->location_len < TAIL ? r->location_len : TAIL;
	q.q = r->location + r->location_len - q.q_len;
	while (q.q_len < r->location_len && ((unsigned char)*q.q & 0xc0) == 0x80 && q.q_len > 1) {
		q.q++; /* skips the rest of a character that was cut */
		q.q_len--;
	}
	href(b, v, &q, MW_FORM_HTML);
}

/* Links to a line's page, or to a group's rows; a gem has no page of its own. */
static void location(struct mw_buf *b, const struct view *v, const struct mw_row *r)
{
	bool link = v->q.group != MW_GROUP_GEM;

	mw_buf_str(b, link ? "<td class=\"location\"><a " : "<td class=\"location\">");
	if (v->q.group == MW_GROUP_LINE)
		mw_html_at_href(b, v->call, r, "");
	else if (link)
		parts_href(b, v, r);
	mw_buf_str(b, link ? ">" : "");
	mw_html_location(b, r->location, r->location_len);
	mw_buf_str(b, link ? "</a></td>" : "</td>");
}

static const char *why_no_row(const struct view *v)
{
	if (v->result.matched)
		return "No row is left at this offset.";
	if (v->q.kind_len)
		return "No location has memory of that kind.";
	return v->q.q_len ? "No location matches." : "No location has that much.";
}

static void rows(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	int columns = 0;

	for (int i = 0; i < MW_ALL_COLUMNS_N; i++)
		columns += has_column(v, i);
	for (size_t i = 0; i < v->result.n; i++) {
		mw_buf_str(b, "<tr>");
		mw_html_cells(b, &v->result.rows[i], sorted_by(v));
		location(b, v, &v->result.rows[i]);
		mw_buf_str(b, "</tr>\n");
	}
	if (!v->result.n)
		mw_buf_fmt(b, "<tr><td class=\"empty\" colspan=\"%d\">%s</td></tr>\n", columns,
			   why_no_row(v));
}

static void sum(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_html_cells(b, &v->result.sum, sorted_by(v));
	mw_buf_str(b, "<th scope=\"row\" class=\"location\">Sum of ");
	mw_buf_commas(b, v->result.matched);
	mw_buf_str(b, v->result.matched == 1 ? " row</th>" : " rows</th>");
}

static const char *things(const struct view *v)
{
	static const char *const names[] = { "Locations", "Files", "Folders", "Gems", "Kinds" };

	return names[v->q.group];
}

static void caption(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_buf_str(b, things(v));
	if (v->result.n) {
		mw_buf_str(b, " ");
		mw_buf_commas(b, v->q.offset + 1);
		mw_buf_str(b, "\xe2\x80\x93");
		mw_buf_commas(b, v->q.offset + v->result.n);
		mw_buf_str(b, " of ");
		mw_buf_commas(b, v->result.matched);
	}
	if (v->q.min) {
		mw_buf_str(b, " with more than ");
		mw_buf_commas(b, v->q.min);
		mw_buf_str(b, " bytes in total or live");
	}
	if (v->q.q_len) {
		mw_buf_str(b, " matching \xe2\x80\x9c");
		mw_buf_html(b, v->q.q, v->q.q_len);
		mw_buf_str(b, "\xe2\x80\x9d");
	}
	if (v->q.kind_len) {
		mw_buf_str(b, ", their part of the kind \xe2\x80\x9c");
		mw_buf_html(b, v->q.kind, v->q.kind_len);
		mw_buf_str(b, "\xe2\x80\x9d");
	}
	mw_buf_str(b, ", by ");
	mw_html_text(b, mw_columns[sorted_by(v)].name);
	mw_buf_str(b, order_of(v) > 0 ? ", least first" : ", most first");
}

/* --- around it ------------------------------------------------------------ */

static void pager(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	struct mw_query q = v->q;
	bool before = v->q.offset > 0 && v->q.limit;
	bool after = v->result.n && v->q.limit && v->q.offset + v->result.n < v->result.matched;

	if (!before && !after)
		return;
	mw_buf_str(b, "<nav class=\"pager\" aria-label=\"Pages\">");
	if (before) {
		q.offset = v->q.offset > v->q.limit ? v->q.offset - v->q.limit : 0;
		mw_buf_str(b, "<a rel=\"prev\" ");
		href(b, v, &q, MW_FORM_HTML);
		mw_buf_str(b, ">\xe2\x86\x90 Previous</a> ");
	}
	if (after) {
		q.offset = v->q.offset + v->q.limit;
		mw_buf_str(b, "<a rel=\"next\" ");
		href(b, v, &q, MW_FORM_HTML);
		mw_buf_str(b, ">Next \xe2\x86\x92</a>");
	}
	mw_buf_str(b, "</nav>\n");
}

static void exports(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (int f = MW_FORM_TSV; f <= MW_FORM_JSON; f++) {
		mw_buf_str(b, "<a ");
		href(b, v, &v->q, (enum mw_form)f);
		mw_buf_fmt(b, ">%s</a> ", f == MW_FORM_TSV ? "TSV" : f == MW_FORM_CSV ? "CSV" : "JSON");
	}
}

static void groups(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (int g = MW_GROUP_LINE; g <= (v->q.kinds ? MW_GROUP_KIND : MW_GROUP_GEM); g++)
		mw_buf_fmt(b, "<option%s>%s</option>", v->q.group == (enum mw_group)g ? " selected" : "",
			   mw_params_group((enum mw_group)g));
}

static void q_value(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_buf_html(b, v->q.q, v->q.q_len);
}

/* A field for the kind, where there are kinds. */
static void kind_field(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (!v->q.kinds)
		return;
	mw_buf_str(b, "<label>Kind <input name=\"kind\" value=\"");
	mw_buf_html(b, v->q.kind, v->q.kind_len);
	mw_buf_str(b, "\"></label>\n");
}

static void min_value(struct mw_buf *b, void *ctx)
{
	mw_buf_u64(b, ((const struct view *)ctx)->q.min);
}

static void limit_value(struct mw_buf *b, void *ctx)
{
	mw_buf_u64(b, ((const struct view *)ctx)->q.limit);
}

/* Hidden fields: the filter's form keeps the sort order of the present view. */
static void hidden(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (v->q.sort >= 0)
		mw_buf_fmt(b, "<input type=\"hidden\" name=\"sort\" value=\"%s\">",
			   mw_columns[v->q.sort].name);
	if (v->q.order)
		mw_buf_fmt(b, "<input type=\"hidden\" name=\"order\" value=\"%s\">",
			   v->q.order < 0 ? "desc" : "asc");
}

static void page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->call->req->base },
		{ .name = "heading", .text = v->home ? "What is growing" : things(v) },
		{ .name = "past", .fill = v->home ? mw_html_past : NULL, .ctx = v->call },
		{ .name = "facts", .fill = v->home ? mw_html_facts : NULL, .ctx = v->call },
		{ .name = "controls", .fill = v->home ? mw_html_controls : NULL, .ctx = v->call },
		{ .name = "hidden", .fill = hidden, .ctx = v },
		{ .name = "q", .fill = q_value, .ctx = v },
		{ .name = "min", .fill = min_value, .ctx = v },
		{ .name = "limit", .fill = limit_value, .ctx = v },
		{ .name = "groups", .fill = groups, .ctx = v },
		{ .name = "kind", .fill = kind_field, .ctx = v },
		{ .name = "caption", .fill = caption, .ctx = v },
		{ .name = "head", .fill = head, .ctx = v },
		{ .name = "rows", .fill = rows, .ctx = v },
		{ .name = "sum", .fill = sum, .ctx = v },
		{ .name = "pager", .fill = v->home ? NULL : pager, .ctx = v },
		{ .name = "exports", .fill = exports, .ctx = v },
	};

	mw_template(b, "each.html", slots, sizeof(slots) / sizeof(slots[0]));
}

static void answer(struct view *v, enum mw_form form)
{
	struct mw_call *call = v->call;
	const struct mw_stats *stats = mw_call_stats(call);

	v->q.kinds = stats->stacks_rate || stats->stacks;
	if (mw_result_make(&v->result, call->api, &v->q)) {
		mw_response_no_memory(call->res);
		return;
	}
	if (form == MW_FORM_HTML) {
		mw_reply_page(call, v->home ? "growth" : things(v), page, v);
	} else {
		mw_reply_form(call, form);
		mw_render(&call->res->body, &v->result, mw_form_format(form));
	}
	mw_result_free(&v->result, call->api);
}

/* The last part of the path: MIN or MIN.tsv. 0, 400 or 500. */
static int take_min(const char *rest, struct view *v, enum mw_form *form, struct mw_buf *why)
{
	size_t n = strlen(rest), len = mw_form_suffix(rest, n, form);

	if (!n || mw_parse_u64(rest, len, &v->q.min))
		return 0;
	mw_buf_str(why, "/each/MIN: MIN must be a number of bytes, then .tsv, .csv, .json or nothing");
	return 400;
}

void mw_page_each(struct mw_call *call)
{
	struct view v = { .call = call, .q = { .sort = -1 } };
	int bad = mw_params_form(&call->params, &call->form, &call->why);

	if (!bad)
		bad = take_min(call->rest, &v, &call->form, &call->why);
	v.q.limit = call->form == MW_FORM_HTML ? MW_EACH_LIMIT : 0;
	if (!bad)
		bad = mw_params_query(&call->params, &v.q, &call->why);
	if (!mw_refused(call, bad))
		answer(&v, call->form);
}

void mw_page_home(struct mw_call *call)
{
	struct view v = { .call = call,
			  .home = true,
			  .q = { .sort = mw_column_find("growth", 6), .limit = MW_HOME_LIMIT } };

	if (mw_call_stats(call)->processes)
		call->script = "all";
	else if (call->req->site) /* /live, which the script reads, needs a site */
		call->script = "home";
	answer(&v, MW_FORM_HTML);
}
