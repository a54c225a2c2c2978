/* SPDX-License-Identifier: GPL-2.0-or-later */
/* labels.c - /labels: which endpoint or job allocated. See shared/report/label_rows.h. */
#include "shared/report/label_rows.h"

#include <stdlib.h>
#include <string.h>

#include "pages.h"

struct view {
	struct mw_call *call;
	const struct mw_profile *profile;
	const struct mw_row *rows;
	size_t n;
};

static void labels_head(struct mw_buf *b, void *unused)
{
	(void)unused;
	for (int i = 0; i < mw_label_table.n; i++) {
		const struct mw_column *c = &mw_label_table.columns[i];

		mw_buf_fmt(b, "<th scope=\"col\"%s title=\"",
			   c->type == MW_TYPE_TEXT ? "" : " class=\"num\"");
		mw_html_text(b, c->about);
		mw_html_text_in(b, "\">", c->title, "</th>\n");
	}
}

/* A label leads to its flame graph. */
static void label_cell(struct mw_buf *b, const struct view *v, const struct mw_row *r)
{
	mw_buf_str(b, "<td class=\"location\"><a href=\"");
	mw_html_text(b, v->call->req->base);
	mw_buf_str(b, "/flame?label=");
	mw_percent_encode(b, r->location, r->location_len);
	mw_html_text_in(b, "\">", r->location, "</a></td>");
}

static void label_rows(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (size_t i = 0; i < v->n; i++) {
		mw_buf_str(b, "<tr>");
		for (int c = 0; c < mw_label_table.n; c++)
			if (mw_label_table.columns[c].type == MW_TYPE_TEXT)
				label_cell(b, v, &v->rows[i]);
			else
				mw_html_cell(b, v->call, &mw_label_table.columns[c], &v->rows[i],
					     c == mw_label_table.sort);
		mw_buf_str(b, "</tr>\n");
	}
}

static bool any_label(const struct view *v)
{
	return v->n && strcmp(v->rows[0].location, MW_NO_LABEL) != 0;
}

static void labels_summary(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (!any_label(v)) {
		mw_buf_str(b, "No thread has a label: a middleware sets them, or Mwrap.label. ");
		if (!v->profile->rate)
			mw_buf_str(b, "Nor are stacks kept: the option stacks is off.");
		return;
	}
	mw_buf_str(b, "All rows add up to the table, to the byte. How the bytes of a line are divided among labels is "
		      "estimated from ");
	mw_buf_commas(b, v->profile->samples[MW_BY_TOTAL]);
	mw_buf_str(b, " samples.");
}

static void labels_page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->call->req->base },
		{ .name = "summary", .fill = labels_summary, .ctx = v },
		{ .name = "head", .fill = labels_head, .ctx = v },
		{ .name = "rows", .fill = label_rows, .ctx = v },
	};

	mw_template(b, "labels.html", slots, sizeof(slots) / sizeof(slots[0]));
}

static void reply_labels(struct view *v)
{
	if (v->call->form == MW_FORM_HTML) {
		mw_reply_page(v->call, "labels", labels_page, v);
		return;
	}
	mw_reply_form(v->call, v->call->form);
	mw_render_table(&v->call->res->body, &mw_label_table, v->rows, v->n, mw_form_format(v->call->form));
	if (v->call->form == MW_FORM_JSON)
		mw_buf_str(&v->call->res->body, "\n");
}

void mw_page_labels(struct mw_call *call)
{
	struct mw_profile p;
	struct view v = { .call = call, .profile = &p };
	struct mw_row *made = NULL;

	if (!mw_profile_make(&p, call->api, &(struct mw_profile_how){ 0 })) {
		mw_response_no_memory(call->res);
		return;
	}
	v.rows = made = mw_labels_make(&p, &v.n);
	if (made)
		reply_labels(&v);
	else
		mw_response_no_memory(call->res);
	free(made);
	mw_profile_free(&p, call->api);
}
