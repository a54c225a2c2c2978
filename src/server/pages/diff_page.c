/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_page.c - the page of /diff: forms for the two moments, and the table. See diff.h. */
#include <inttypes.h>
#include <string.h>

#include "diff.h"

static int sorted_by(const struct mw_diff_view *v)
{
	return v->q.sort >= 0 ? v->q.sort : mw_diff_table.sort;
}

static int order_of(const struct mw_diff_view *v)
{
	return v->q.order ? v->q.order : mw_diff_table.columns[sorted_by(v)].order;
}

/* Blocks and calls aren't known of a moment of the history. */
static bool has_column(const struct mw_diff_view *v, int i)
{
	const char *name = mw_diff_table.columns[i].name;

	return v->diff.exact ||
	       (!strstr(name, "blocks") && strcmp(name, "allocations") && strcmp(name, "frees"));
}

/* --- links ---------------------------------------------------------------------------------- */

static void param(struct mw_buf *b, const char *name, const char *value, size_t n)
{
	if (!n)
		return;
	mw_buf_str(b, "&amp;");
	mw_buf_str(b, name);
	mw_buf_str(b, "=");
	mw_percent_encode(b, value, n);
}

static void href(struct mw_buf *b, const struct mw_diff_view *v, const struct mw_query *q, enum mw_form form)
{
	const char *sort = q->sort >= 0 ? mw_diff_table.columns[q->sort].name : "";
	const char *order = !q->order ? "" : q->order < 0 ? "desc" : "asc";
	const char *group = q->group == MW_GROUP_LINE ? "" : mw_params_group(q->group);

	mw_buf_str(b, "href=\"");
	mw_html_text(b, v->call->req->base);
	mw_buf_str(b, "/diff");
	if (form != MW_FORM_HTML)
		mw_buf_fmt(b, ".%s", mw_form_name(form));
	mw_buf_str(b, "?from=");
	mw_percent_encode(b, v->from.name, v->from.n);
	param(b, "to", v->to.name, v->to.n);
	param(b, "sort", sort, strlen(sort));
	param(b, "order", order, strlen(order));
	param(b, "group", group, strlen(group));
	param(b, "q", q->q, q->q_len);
	if (q->min)
		mw_buf_fmt(b, "&amp;min=%" PRIu64, q->min);
	if (form == MW_FORM_HTML && q->limit != MW_EACH_LIMIT)
		mw_buf_fmt(b, "&amp;limit=%" PRIu64, q->limit);
	mw_buf_str(b, "\"");
}

/* --- the table --------------------------------------------------------------------------------- */

static void header(struct mw_buf *b, const struct mw_diff_view *v, int i)
{
	const struct mw_column *c = &mw_diff_table.columns[i];
	int order = i == sorted_by(v) ? order_of(v) : 0;
	struct mw_query q = v->q;

	q.sort = i;
	q.order = -order == c->order ? 0 : -order;
	q.offset = 0;
	mw_html_column_begin(b, c, order);
	href(b, v, &q, MW_FORM_HTML);
	mw_html_column_end(b, c, order);
}

static void head(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	for (int i = 0; i < mw_diff_table.n; i++)
		if (has_column(v, i))
			header(b, v, i);
}

static void cells(struct mw_buf *b, const struct mw_diff_view *v, const struct mw_row *r)
{
	for (int i = 0; i < mw_diff_table.n; i++)
		if (has_column(v, i) && mw_diff_table.columns[i].type != MW_TYPE_TEXT)
			mw_html_cell(b, &mw_diff_table.columns[i], r, i == sorted_by(v));
}

/* A line's page; the special rows and groups have none. */
static void location(struct mw_buf *b, const struct mw_diff_view *v, const struct mw_row *r)
{
	bool link = v->q.group == MW_GROUP_LINE && r->kind != MW_KIND_SPECIAL;

	mw_buf_str(b, link ? "<td class=\"location\"><a " : "<td class=\"location\">");
	if (link) {
		mw_html_at_href(b, v->call, r, "");
		mw_buf_str(b, ">");
	}
	mw_html_location(b, r->location, r->location_len);
	mw_buf_str(b, link ? "</a></td>" : "</td>");
}

static void rows(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	for (size_t i = 0; i < v->result.n; i++) {
		mw_buf_str(b, "<tr>");
		cells(b, v, &v->result.rows[i]);
		location(b, v, &v->result.rows[i]);
		mw_buf_str(b, "</tr>\n");
	}
	if (!v->result.n)
		mw_buf_fmt(b, "<tr><td class=\"empty\" colspan=\"%d\">%s</td></tr>\n", mw_diff_table.n,
			   v->q.q_len ? "No location matches." : "Nothing was live.");
}

static void sum(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	cells(b, v, &v->result.sum);
	mw_buf_str(b, "<th scope=\"row\" class=\"location\">Sum of ");
	mw_buf_commas(b, v->result.matched);
	mw_buf_str(b, v->result.matched == 1 ? " row</th>" : " rows</th>");
}

static void caption(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	mw_buf_commas(b, v->result.n);
	mw_buf_str(b, " of ");
	mw_buf_commas(b, v->result.matched);
	mw_buf_str(b, " rows, by ");
	mw_html_text(b, mw_diff_table.columns[sorted_by(v)].name);
	mw_buf_str(b, order_of(v) > 0 ? ", least first" : ", most first");
}

/* --- above it ----------------------------------------------------------------------------------- */

static void name_of(struct mw_buf *b, const struct mw_diff_end *e, const struct mw_moment *m)
{
	mw_buf_str(b, "<b>");
	if (e->is_time) {
		mw_html_duration(b, m->uptime);
		mw_buf_str(b, " of uptime");
	} else {
		mw_buf_html(b, e->name, e->n);
	}
	mw_buf_str(b, "</b>");
}

/* "From deploy-17 to now, 10 m 5 s, live bytes grew by 9.54 MB." */
static void sentence(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;
	int64_t growth = v->result.sum.growth;

	mw_buf_str(b, "From ");
	name_of(b, &v->from, &v->diff.from);
	mw_buf_str(b, " to ");
	name_of(b, &v->to, &v->diff.to);
	mw_buf_str(b, ", ");
	mw_html_duration(b, v->diff.to.uptime - v->diff.from.uptime);
	mw_buf_str(b, growth < 0 ? ", live bytes shrank by " : ", live bytes grew by ");
	mw_html_bytes(b, growth < 0 ? 0 - (uint64_t)growth : (uint64_t)growth, false);
	mw_buf_str(b, v->q.q_len ? " where the location matches." : ".");
	if (!v->diff.exact)
		mw_buf_str(b, " These moments are the history\xe2\x80\x99s: bytes are rounded down to 64, and "
			      "locations that it doesn\xe2\x80\x99t keep are (rest). Marks are exact.");
}

static void time_option(struct mw_buf *b, const struct mw_diff_end *e)
{
	if (!e->is_time)
		return;
	mw_buf_str(b, "<option selected value=\"");
	mw_buf_html(b, e->name, e->n);
	mw_buf_str(b, "\">");
	mw_html_duration(b, e->t);
	mw_buf_str(b, " of uptime</option>");
}

static void options(struct mw_buf *b, const struct mw_diff_view *v, const struct mw_diff_end *e,
		    const char *edge)
{
	bool usual = !e->mark && !e->is_time;

	mw_buf_fmt(b, "<option%s>%s</option>", usual ? " selected" : "", edge);
	time_option(b, e);
	mw_html_mark_options(b, v->source.marks, e->mark ? e->name : "", e->mark ? e->n : 0);
}

static void from_options(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	options(b, v, &v->from, "start");
}

static void to_options(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	options(b, v, &v->to, "now");
}

static void group_options(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	for (int g = MW_GROUP_LINE; g <= MW_GROUP_GEM; g++)
		mw_buf_fmt(b, "<option%s>%s</option>", v->q.group == (enum mw_group)g ? " selected" : "",
			   mw_params_group((enum mw_group)g));
}

static void q_value(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	mw_buf_html(b, v->q.q, v->q.q_len);
}

static void limit_value(struct mw_buf *b, void *ctx)
{
	mw_buf_u64(b, ((const struct mw_diff_view *)ctx)->q.limit);
}

/* The form keeps the order. */
static void hidden(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	if (v->q.sort >= 0)
		mw_buf_fmt(b, "<input type=\"hidden\" name=\"sort\" value=\"%s\">",
			   mw_diff_table.columns[v->q.sort].name);
	if (v->q.order)
		mw_buf_fmt(b, "<input type=\"hidden\" name=\"order\" value=\"%s\">",
			   v->q.order < 0 ? "desc" : "asc");
}

static void exports(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	for (int f = MW_FORM_TSV; f <= MW_FORM_JSON; f++) {
		mw_buf_str(b, "<a ");
		href(b, v, &v->q, (enum mw_form)f);
		mw_buf_fmt(b, ">%s</a> ", f == MW_FORM_TSV ? "TSV" : f == MW_FORM_CSV ? "CSV" : "JSON");
	}
}

void mw_html_diff(struct mw_buf *b, void *ctx)
{
	struct mw_diff_view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->call->req->base },
		{ .name = "sentence", .fill = sentence, .ctx = v },
		{ .name = "hidden", .fill = hidden, .ctx = v },
		{ .name = "from", .fill = from_options, .ctx = v },
		{ .name = "to", .fill = to_options, .ctx = v },
		{ .name = "q", .fill = q_value, .ctx = v },
		{ .name = "groups", .fill = group_options, .ctx = v },
		{ .name = "limit", .fill = limit_value, .ctx = v },
		{ .name = "caption", .fill = caption, .ctx = v },
		{ .name = "head", .fill = head, .ctx = v },
		{ .name = "rows", .fill = rows, .ctx = v },
		{ .name = "sum", .fill = sum, .ctx = v },
		{ .name = "exports", .fill = exports, .ctx = v },
	};

	mw_template(b, "diff.html", slots, sizeof(slots) / sizeof(slots[0]));
}
