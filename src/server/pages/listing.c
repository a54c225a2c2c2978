/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "listing.h"

int mw_listing_sort(const struct mw_listing *l)
{
	return l->q.sort >= 0 ? l->q.sort : l->table->sort;
}

int mw_listing_order(const struct mw_listing *l)
{
	return l->q.order ? l->q.order : l->table->columns[mw_listing_sort(l)].order;
}

/* --- links ---------------------------------------------------------------- */

/* Appends "?" or "&amp;" and NAME=; the caller appends the value. */
static void param(struct mw_buf *b, bool *any, const char *name)
{
	mw_buf_str(b, *any ? "&amp;" : "?");
	mw_buf_str(b, name);
	mw_buf_str(b, "=");
	*any = true;
}

static void param_u64(struct mw_buf *b, bool *any, const char *name, uint64_t v)
{
	param(b, any, name);
	mw_buf_u64(b, v);
}

void mw_listing_href(struct mw_buf *b, const struct mw_listing *l, const struct mw_query *q,
		     enum mw_form form)
{
	bool any;

	mw_buf_str(b, "href=\"");
	mw_html_text(b, l->call->req->base);
	any = l->address(b, l, q, form);
	if (q->sort >= 0) {
		param(b, &any, "sort");
		mw_buf_str(b, l->table->columns[q->sort].name);
	}
	if (q->order) {
		param(b, &any, "order");
		mw_buf_str(b, q->order < 0 ? "desc" : "asc");
	}
	if (q->group != MW_GROUP_LINE) {
		param(b, &any, "group");
		mw_buf_str(b, mw_params_group(q->group));
	}
	if (q->q_len) {
		param(b, &any, "q");
		mw_percent_encode(b, q->q, q->q_len);
	}
	if (q->kind_len) {
		param(b, &any, "kind");
		mw_percent_encode(b, q->kind, q->kind_len);
	}
	if (form == MW_FORM_HTML && q->limit != MW_EACH_LIMIT)
		param_u64(b, &any, "limit", q->limit);
	if (form == MW_FORM_HTML && q->offset)
		param_u64(b, &any, "offset", q->offset);
	mw_buf_str(b, "\"");
}

void mw_listing_exports(struct mw_buf *b, void *ctx)
{
	const struct mw_listing *l = ctx;

	for (int f = MW_FORM_TSV; f <= MW_FORM_JSON; f++) {
		mw_buf_str(b, "<a ");
		mw_listing_href(b, l, &l->q, (enum mw_form)f);
		mw_buf_fmt(b, ">%s</a> ", f == MW_FORM_TSV ? "TSV" : f == MW_FORM_CSV ? "CSV" : "JSON");
	}
}

/* --- the table ------------------------------------------------------------ */

void mw_listing_header(struct mw_buf *b, const struct mw_listing *l, int column)
{
	const struct mw_column *c = &l->table->columns[column];
	int order = column == mw_listing_sort(l) ? mw_listing_order(l) : 0;
	struct mw_query q = l->q;

	q.sort = column;
	q.order = -order == c->order ? 0 : -order;
	q.offset = 0;
	mw_html_column_begin(b, c, order);
	mw_listing_href(b, l, &q, MW_FORM_HTML);
	mw_html_column_end(b, c, order);
}

void mw_listing_by(struct mw_buf *b, const struct mw_listing *l)
{
	mw_buf_str(b, ", by ");
	mw_html_text(b, l->table->columns[mw_listing_sort(l)].name);
	mw_buf_str(b, mw_listing_order(l) > 0 ? ", least first" : ", most first");
}

void mw_listing_sum(struct mw_buf *b, const struct mw_listing *l)
{
	mw_buf_str(b, "<th scope=\"row\" class=\"location\">Sum of ");
	mw_buf_commas(b, l->result.matched);
	mw_buf_str(b, l->result.matched == 1 ? " row</th>" : " rows</th>");
}

void mw_listing_range(struct mw_buf *b, void *ctx)
{
	const struct mw_listing *l = ctx;

	if (!l->result.n)
		return;
	mw_html_commas_in(b, " ", l->q.offset + 1, "\xe2\x80\x93");
	mw_html_commas_in(b, "", l->q.offset + l->result.n, " of ");
	mw_buf_commas(b, l->result.matched);
}

static void pager_href(struct mw_buf *b, const void *ctx, uint64_t offset)
{
	const struct mw_listing *l = ctx;
	struct mw_query q = l->q;

	q.offset = offset;
	mw_listing_href(b, l, &q, MW_FORM_HTML);
}

void mw_listing_pager(struct mw_buf *b, void *ctx)
{
	const struct mw_listing *l = ctx;
	const struct mw_slice slice = { .offset = l->q.offset,
					.limit = l->q.limit,
					.n = l->result.n,
					.total = l->result.matched,
					.href = pager_href,
					.ctx = l };

	mw_html_pager(b, &slice);
}

/* --- the form --------------------------------------------------------------- */

void mw_listing_q(struct mw_buf *b, void *ctx)
{
	const struct mw_listing *l = ctx;

	mw_buf_html(b, l->q.q, l->q.q_len);
}

void mw_listing_limit(struct mw_buf *b, void *ctx)
{
	mw_buf_u64(b, ((const struct mw_listing *)ctx)->q.limit);
}

void mw_listing_groups(struct mw_buf *b, void *ctx)
{
	const struct mw_query *q = &((const struct mw_listing *)ctx)->q;

	for (int g = MW_GROUP_LINE; g <= (q->kinds ? MW_GROUP_KIND : MW_GROUP_GEM); g++)
		mw_buf_fmt(b, "<option%s>%s</option>", q->group == (enum mw_group)g ? " selected" : "",
			   mw_params_group((enum mw_group)g));
}

void mw_listing_hidden(struct mw_buf *b, void *ctx)
{
	const struct mw_listing *l = ctx;

	if (l->q.sort >= 0)
		mw_buf_fmt(b, "<input type=\"hidden\" name=\"sort\" value=\"%s\">",
			   l->table->columns[l->q.sort].name);
	if (l->q.order)
		mw_buf_fmt(b, "<input type=\"hidden\" name=\"order\" value=\"%s\">",
			   l->q.order < 0 ? "desc" : "asc");
}
