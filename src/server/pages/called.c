/* SPDX-License-Identifier: GPL-2.0-or-later */
/* called.c - "Called by" on a location's page. See pages.h. */
#include <string.h>

#include "pages.h"

enum { FRAMES = 4 }; /* of a row, on the page */

bool mw_called_make(struct mw_called *c, const struct mw_api *api, const struct mw_at *at)
{
	const struct mw_profile_how how = { .row = at->row };

	*c = (struct mw_called){ .kept = at->stats.stacks_rate || at->stats.stacks };
	if (!c->kept)
		return true;
	if (mw_profile_make(&c->profile, api, &how) && mw_called_by_make(&c->callers, &c->profile))
		return true;
	mw_called_free(c, api);
	return false;
}

void mw_called_free(struct mw_called *c, const struct mw_api *api)
{
	mw_profile_free(&c->profile, api);
	*c = (struct mw_called){ 0 };
}

/* "43 %" of a table's sum, which the parts never exceed */
static void share_cell(struct mw_buf *b, uint64_t part, uint64_t all)
{
	uint64_t percent = all ? (uint64_t)((double)part * 100 / (double)all + 0.5) : 0;

	mw_buf_str(b, "<td class=\"num\">");
	if (part && !percent)
		mw_buf_str(b, "&lt;1");
	else
		mw_buf_u64(b, percent);
	mw_buf_str(b, "\xc2\xa0%</td>");
}

static void frame(struct mw_buf *b, const struct mw_profile_frame *f)
{
	mw_html_text(b, f->name);
	if (!*f->file)
		return;
	mw_buf_str(b, " <small>");
	mw_html_location(b, f->file, strlen(f->file));
	if (f->line)
		mw_buf_fmt(b, ":%u", f->line);
	mw_buf_str(b, "</small>");
}

static void frames(struct mw_buf *b, const struct mw_called_row *r, const struct mw_profile *p)
{
	uint32_t n = r->n > FRAMES + 1 ? FRAMES : r->n;

	mw_buf_str(b, "<td class=\"location\">");
	for (uint32_t i = 0; i < r->depth; i++)
		mw_buf_str(b, "\xc2\xb7 ");
	for (uint32_t i = 0; i < n; i++) {
		mw_buf_str(b, i ? " \xe2\x86\x90 " : "");
		frame(b, &p->frames[r->frames[i]]);
	}
	if (n < r->n)
		mw_buf_fmt(b, " \xe2\x86\x90 %u more", r->n - n);
	if (!r->n)
		mw_buf_str(b, "(no caller is known)");
	mw_buf_str(b, "</td>");
}

static void put_caller_row(struct mw_buf *b, const struct mw_called *c, const struct mw_called_row *r,
			   const struct mw_row *at)
{
	enum mw_profile_by by = c->callers.by;

	mw_buf_str(b, "<tr>");
	mw_html_bytes_cell(b, r->bytes[MW_BY_LIVE]);
	share_cell(b, r->bytes[by], by == MW_BY_LIVE ? at->live_bytes : at->total);
	mw_html_bytes_cell(b, r->bytes[MW_BY_TOTAL]);
	mw_html_number(b, r->samples[by]);
	frames(b, r, &c->profile);
	mw_buf_str(b, "</tr>\n");
}

void mw_html_called(struct mw_buf *b, const struct mw_called *c, const struct mw_call *call,
		    const struct mw_row *at)
{
	uint64_t samples = c->profile.samples[c->callers.by];

	if (!c->kept) {
		mw_buf_str(b, "<p class=\"note\">To see who calls this location, start the process with the "
			      "option stacks:auto.</p>\n");
		return;
	}
	mw_buf_str(b,
		   "<div class=\"scroll\" role=\"region\" aria-label=\"Called by\" tabindex=\"0\">\n"
		   "<table class=\"called\">\n<caption>Called by</caption>\n"
		   "<thead><tr><th scope=\"col\" class=\"num\">Live</th><th scope=\"col\" class=\"num\">Share</th>"
		   "<th scope=\"col\" class=\"num\">Allocated</th><th scope=\"col\" class=\"num\">Samples</th>"
		   "<th scope=\"col\">Caller</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < c->callers.n; i++)
		put_caller_row(b, c, &c->callers.rows[i], at);
	if (!c->callers.n)
		mw_buf_str(b, "<tr><td class=\"empty\" colspan=\"5\">Nothing was allocated.</td></tr>\n");
	mw_buf_str(b, "</tbody>\n</table>\n</div>\n<p class=\"note\">");
	mw_buf_str(b, at->live_samples ? "The sums and how they are divided are estimated from " :
					 "The sums are exact. How they are divided is estimated from ");
	mw_buf_commas(b, samples);
	mw_buf_str(b, samples == 1 ? " sample. " : " samples. ");
	if (c->callers.more) {
		mw_buf_commas(b, c->callers.more);
		mw_buf_str(b, c->callers.more == 1 ? " smaller caller isn\xe2\x80\x99t shown. " :
						     " smaller callers aren\xe2\x80\x99t shown. ");
	}
	mw_buf_str(b, "All of them: <a ");
	mw_html_flame_href(b, call, at);
	mw_buf_str(b, ">the flame graph</a></p>\n");
}
