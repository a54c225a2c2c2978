/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_page.c - the page of /diff: forms for the two moments, and the table. See diff.h. */
#include <inttypes.h>
#include <string.h>

#include "diff.h"

/* Blocks, calls and objects aren't known of a moment of the history. Before Ruby 3.4 there are no objects. */
static bool has_column(const struct mw_diff_view *v, int i)
{
	const char *name = mw_diff_table.columns[i].name;

	if (strstr(name, "object"))
		return v->l.result.sum.objects || v->l.result.sum.object_samples;
	return v->diff.exact ||
	       (!strstr(name, "blocks") && strcmp(name, "allocations") && strcmp(name, "frees"));
}

/* --- links ---------------------------------------------------------------------------------- */

static bool address(struct mw_buf *b, const struct mw_listing *l, const struct mw_query *q,
		    enum mw_form form)
{
	const struct mw_diff_view *v = (const struct mw_diff_view *)l;

	mw_buf_str(b, "/diff");
	if (form != MW_FORM_HTML)
		mw_buf_fmt(b, ".%s", mw_form_name(form));
	mw_buf_str(b, "?from=");
	mw_percent_encode(b, v->from.name, v->from.n);
	if (v->to.n) {
		mw_buf_str(b, "&amp;to=");
		mw_percent_encode(b, v->to.name, v->to.n);
	}
	if (q->min)
		mw_buf_fmt(b, "&amp;min=%" PRIu64, q->min);
	return true;
}

/* --- the table --------------------------------------------------------------------------------- */

static void diff_page_head(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;
	int location = mw_table_find(&mw_diff_table, "location", 8);

	for (int i = 0; i < mw_diff_table.n; i++)
		if (has_column(v, i) && i != location)
			mw_listing_header(b, &v->l, i);
	mw_listing_header(b, &v->l, location);
}

static void cells(struct mw_buf *b, const struct mw_diff_view *v, const struct mw_row *r)
{
	for (int i = 0; i < mw_diff_table.n; i++)
		if (has_column(v, i) && mw_diff_table.columns[i].type != MW_TYPE_TEXT)
			mw_html_cell(b, v->l.call, &mw_diff_table.columns[i], r,
				     i == mw_listing_sort(&v->l));
}

/* A line's page; the special rows and groups have none. */
static void diff_location_cell(struct mw_buf *b, const struct mw_diff_view *v, const struct mw_row *r)
{
	bool link = v->l.q.group == MW_GROUP_LINE && r->kind != MW_KIND_SPECIAL;

	mw_buf_str(b, link ? "<td class=\"location\"><a " : "<td class=\"location\">");
	if (link) {
		mw_html_at_href(b, v->l.call, r, "");
		mw_buf_str(b, ">");
	}
	mw_html_location(b, r->location, r->location_len);
	mw_buf_str(b, link ? "</a></td>" : "</td>");
}

static void diff_page_rows(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	for (size_t i = 0; i < v->l.result.n; i++) {
		mw_buf_str(b, "<tr>");
		cells(b, v, &v->l.result.rows[i]);
		diff_location_cell(b, v, &v->l.result.rows[i]);
		mw_buf_str(b, "</tr>\n");
	}
	if (!v->l.result.n)
		mw_buf_fmt(b, "<tr><td class=\"empty\" colspan=\"%d\">%s</td></tr>\n", mw_diff_table.n,
			   v->l.q.q_len ? "No location matches." : "Nothing was live.");
}

static void sum(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;

	cells(b, v, &v->l.result.sum);
	mw_listing_sum(b, &v->l);
}

static void caption(struct mw_buf *b, void *ctx)
{
	mw_buf_str(b, "Differences");
	mw_listing_range(b, ctx);
	mw_listing_by(b, ctx);
}

/* --- above it ----------------------------------------------------------------------------------- */

static void put_end_name(struct mw_buf *b, const struct mw_diff_end *e, const struct mw_moment *m)
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
static void diff_sentence(struct mw_buf *b, void *ctx)
{
	const struct mw_diff_view *v = ctx;
	int64_t growth = v->l.result.sum.growth;

	mw_buf_str(b, "From ");
	put_end_name(b, &v->from, &v->diff.from);
	mw_buf_str(b, " to ");
	put_end_name(b, &v->to, &v->diff.to);
	mw_buf_str(b, ", ");
	mw_html_duration(b, v->diff.to.uptime - v->diff.from.uptime);
	mw_buf_str(b, growth < 0 ? ", live bytes shrank by " : ", live bytes grew by ");
	mw_html_bytes(b, growth < 0 ? 0 - (uint64_t)growth : (uint64_t)growth, false);
	mw_buf_str(b, v->l.q.q_len ? " where the location matches." : ".");
	if (v->diff.of_peak)
		mw_buf_str(b,
			   " The peak is the moment of most live memory since the last reset, looked at once a second.");
	else if (!v->diff.exact)
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
	bool usual = !e->mark && !e->is_time && !e->is_peak;

	mw_buf_fmt(b, "<option%s>%s</option>", usual ? " selected" : "", edge);
	if (e->is_peak || mw_call_stats(v->l.call)->peak_bytes)
		mw_buf_fmt(b, "<option%s>peak</option>", e->is_peak ? " selected" : "");
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

void mw_html_diff(struct mw_buf *b, void *ctx)
{
	struct mw_diff_view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->l.call->req->base },
		{ .name = "sentence", .fill = diff_sentence, .ctx = v },
		{ .name = "hidden", .fill = mw_listing_hidden, .ctx = v },
		{ .name = "from", .fill = from_options, .ctx = v },
		{ .name = "to", .fill = to_options, .ctx = v },
		{ .name = "q", .fill = mw_listing_q, .ctx = v },
		{ .name = "groups", .fill = mw_listing_groups, .ctx = v },
		{ .name = "limit", .fill = mw_listing_limit, .ctx = v },
		{ .name = "caption", .fill = caption, .ctx = v },
		{ .name = "head", .fill = diff_page_head, .ctx = v },
		{ .name = "rows", .fill = diff_page_rows, .ctx = v },
		{ .name = "sum", .fill = sum, .ctx = v },
		{ .name = "pager", .fill = mw_listing_pager, .ctx = v },
		{ .name = "exports", .fill = mw_listing_exports, .ctx = v },
	};

	v->l.address = address;
	mw_template(b, "diff.html", slots, sizeof(slots) / sizeof(slots[0]));
}
