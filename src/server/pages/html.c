/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.c - pieces of pages that several handlers need. See pages.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/report/columns.h"
#include "pages.h"

void mw_html_text(struct mw_buf *b, const char *s)
{
	mw_buf_html(b, s, strlen(s));
}

void mw_html_text_in(struct mw_buf *b, const char *before, const char *s, const char *after)
{
	mw_buf_str(b, before);
	mw_html_text(b, s);
	mw_buf_str(b, after);
}

void mw_html_commas_in(struct mw_buf *b, const char *before, uint64_t v, const char *after)
{
	mw_buf_str(b, before);
	mw_buf_commas(b, v);
	mw_buf_str(b, after);
}

void mw_html_number(struct mw_buf *b, uint64_t v)
{
	mw_html_commas_in(b, "<td class=\"num\">", v, "</td>");
}

bool mw_life_in_bytes(struct mw_call *call)
{
	const char *unit = mw_call_stats(call)->life_unit;

	return unit && !strcmp(unit, "bytes");
}

/* A lifespan with its unit: 3 GCs, or an amount. */
static void life(struct mw_buf *b, struct mw_call *call, const struct mw_cell *c)
{
	uint64_t v = c->kind == MW_CELL_RATIO ? mw_cell_rounded(c) : c->u;

	if (mw_life_in_bytes(call)) {
		mw_html_bytes(b, v, false);
		return;
	}
	mw_html_commas_in(b, "<span class=\"amount\" title=\"", v, " garbage collection");
	mw_html_commas_in(b, v == 1 ? "\">" : "s\">", v,
			  "\xc2\xa0"
			  "GC");
	mw_buf_str(b, v == 1 ? "</span>" : "s</span>");
}

static bool is_life(enum mw_type type)
{
	return type == MW_TYPE_MEAN_LIFE || type == MW_TYPE_LIFE;
}

/* Of a column's cells, those of its head included. */
static void put_class(struct mw_buf *b, const struct mw_column *c, bool sorted_by)
{
	if (c->type == MW_TYPE_TEXT)
		return;
	mw_buf_fmt(b, " class=\"%s", c->type == MW_TYPE_KIND ? "kind" : "num");
	if (c->room)
		mw_buf_fmt(b, " r%d", c->room);
	mw_buf_str(b, sorted_by ? " by\"" : "\"");
}

void mw_html_cell(struct mw_buf *b, struct mw_call *call, const struct mw_column *column,
		  const struct mw_row *r, bool sorted_by)
{
	struct mw_cell c = { 0 };

	column->get(r, &c);
	mw_buf_str(b, "<td");
	put_class(b, column, sorted_by);
	mw_buf_str(b, ">");
	if (is_life(column->type) && c.kind != MW_CELL_NONE)
		life(b, call, &c);
	else
		mw_html_value(b, &c, column->type);
	mw_buf_str(b, "</td>");
}

uint64_t mw_page_limit(uint64_t asked)
{
	return asked && asked < MW_PAGE_MAX ? asked : MW_PAGE_MAX;
}

static void pager_link(struct mw_buf *b, const struct mw_slice *s, const char *rel, uint64_t offset)
{
	mw_buf_fmt(b, "<a rel=\"%s\" ", rel);
	s->href(b, s->ctx, offset);
	mw_buf_str(b, ">");
}

void mw_html_pager(struct mw_buf *b, const struct mw_slice *s)
{
	uint64_t at = s->offset < s->total ? s->offset : s->total;

	if (!at && s->n == s->total)
		return;
	mw_buf_str(b, "<nav class=\"pager\" aria-label=\"Pages\">");
	if (at) {
		pager_link(b, s, "prev", at > s->limit ? at - s->limit : 0);
		mw_buf_str(b, "\xe2\x86\x90 Previous</a> ");
	}
	if (at + s->n < s->total) {
		pager_link(b, s, "next", at + s->n);
		mw_buf_str(b, "Next \xe2\x86\x92</a>");
	}
	mw_buf_str(b, "</nav>\n");
}

/* page: of the request's base; the location follows it */
static void href(struct mw_buf *b, const struct mw_call *call, const char *page, const struct mw_row *r)
{
	char id[MW_SHORT_ID + 1];
	size_t at;

	mw_buf_str(b, "href=\"");
	mw_html_text(b, call->req->base);
	mw_buf_str(b, page);
	at = b->n;
	mw_percent_encode(b, r->location, r->location_len);
	if (b->n - at > MW_LINK_MAX) {
		b->n = at;
		mw_location_short(r, id);
		mw_buf_str(b, id);
	}
}

void mw_html_at_href(struct mw_buf *b, const struct mw_call *call, const struct mw_row *r, const char *ext)
{
	href(b, call, "/at/", r);
	mw_buf_str(b, ext);
	mw_buf_str(b, "\"");
}

void mw_html_flame_href(struct mw_buf *b, const struct mw_call *call, const struct mw_row *r)
{
	href(b, call, "/flame?location=", r);
	mw_buf_str(b, "&amp;invert=1\"");
}

void mw_html_holders_href(struct mw_buf *b, const struct mw_call *call, const struct mw_row *r,
			  const char *ext)
{
	char path[32];

	snprintf(path, sizeof(path), r ? "/holders%s?location=" : "/holders%s", ext);
	if (r) {
		href(b, call, path, r);
		mw_buf_str(b, "\"");
	} else {
		mw_buf_str(b, "href=\"");
		mw_html_text(b, call->req->base);
		mw_buf_fmt(b, "%s\"", path);
	}
}

/* Each process has a number of its own: none for the sum of some. */
static void callers_now(struct mw_buf *b, void *ctx)
{
	const struct mw_stats *s = mw_call_stats(ctx);

	if (!s->processes)
		mw_buf_u64(b, s->bt);
}

void mw_html_controls(struct mw_buf *b, void *ctx)
{
	const struct mw_call *call = ctx;
	bool paused = call->api->paused(), sampled = mw_call_stats(ctx)->sampled;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = call->req->base },
		{ .name = "pause", .text = paused ? "resume" : "pause" },
		{ .name = "pause_title",
		  .text = paused ? "Allocations from now on are counted again" :
				   "Allocations until tracking is resumed aren't counted; frees of known blocks are" },
		{ .name = "pause_label", .text = paused ? "Resume tracking" : "Pause tracking" },
		{ .name = "counts", .text = sampled ? "exact" : "sampled" },
		{ .name = "counts_title",
		  .text = sampled ?
				  "Every block is counted from then on; what lives now stays an estimate" :
				  "A few blocks stand for all from then on: that costs less, and all figures are estimates" },
		{ .name = "counts_label", .text = sampled ? "Count exactly" : "Sample" },
		{ .name = "callers", .fill = callers_now, .ctx = ctx },
	};

	if (mw_read_only(call))
		mw_buf_str(b,
			   "<p class=\"note\">Read-only: counters can\xe2\x80\x99t be reset from here.</p>\n");
	else
		mw_template(b, "controls.html", slots, sizeof(slots) / sizeof(slots[0]));
}

static void fact(struct mw_buf *b, const char *name, uint64_t v, bool bytes)
{
	mw_buf_str(b, "<li>");
	mw_buf_str(b, name);
	mw_buf_str(b, " <b>");
	if (bytes)
		mw_html_bytes(b, v, false);
	else
		mw_buf_commas(b, v);
	mw_buf_str(b, "</b></li>\n");
}

static void own_time(struct mw_buf *b, const struct mw_call *call)
{
	double percent = call->req->site ? mw_own_cost_percent(&call->req->site->own_cost) : -1;

	if (percent < 0)
		return;
	mw_buf_str(b, "<li>Tracking takes <b>");
	mw_buf_decimals(b, percent, 1);
	mw_buf_str(b, "\xc2\xa0%</b> of the CPU time, at most</li>\n");
}

static void heap(struct mw_buf *b, const struct mw_call *call, const struct mw_stats *s)
{
	if (!s->heap_known)
		return;
	mw_html_text_in(b, "<li><a href=\"", call->req->base,
			"/heap_pages\">Ruby\xe2\x80\x99s heap pages</a> <b>");
	mw_html_bytes(b, s->heap_bytes, false);
	mw_buf_str(b, "</b></li>\n");
}

static void fault(struct mw_buf *b, const struct mw_call *call, uint64_t blocks, const char *what)
{
	if (!blocks)
		return;
	mw_html_text_in(b, "<p class=\"warning\"><a href=\"", call->req->base, "/overruns\">");
	mw_buf_commas(b, blocks);
	mw_buf_fmt(b, " %s %s</a>.</p>\n", blocks == 1 ? "block was" : "blocks were", what);
}

static void overruns(struct mw_buf *b, const struct mw_call *call, const struct mw_stats *s)
{
	fault(b, call, s->overruns, "written past the end");
	fault(b, call, s->wrong_sizes, "freed with a wrong size");
}

static void say_sampled(const struct mw_stats *s, void (*say)(void *ctx, const char *text), void *ctx)
{
	char text[200], some[80] = ": all";

	if (s->processes > s->sampling)
		snprintf(some, sizeof(some), " in %" PRIu32 " of %" PRIu32 " processes: their",
			 s->sampling, s->processes);
	snprintf(text, sizeof(text),
		 "Allocations are sampled%s figures are estimates. \xe2\x80\x9c"
		 "Count exactly\xe2\x80\x9d counts every block from then on.",
		 some);
	say(ctx, text);
}

void mw_warnings(const struct mw_stats *s, void (*say)(void *ctx, const char *text), void *ctx)
{
	struct mw_buf lost = { 0 };

	if (s->paused)
		say(ctx, "Tracking is paused: allocations now aren\xe2\x80\x99t counted.");
	if (s->sampled)
		say_sampled(s, say, ctx);
	if (s->memory_max && (s->locations_full || s->records_full || s->threads_full))
		say(ctx, "The tracker\xe2\x80\x99s memory is at the ceiling that memory_max sets.");
	if (s->locations_full)
		say(ctx, "There was no room for some locations: they are counted under (other).");
	if (s->threads_full)
		say(ctx, "There was no room for some threads: theirs count at native callers.");
	if (s->lost) {
		mw_buf_commas(&lost, s->lost);
		mw_buf_str(&lost,
			   " live blocks could not be recorded for want of memory: they are missing from "
			   "every number.");
		mw_buf_add(&lost, "", 1);
		say(ctx,
		    lost.failed ? "Some live blocks could not be recorded for want of memory." : lost.p);
		mw_buf_free(&lost);
	}
}

static void lookup(struct mw_buf *b, const struct mw_stats *s)
{
	if (s->ruby_lookup && !strcmp(s->ruby_lookup, "public") && s->ruby_why && *s->ruby_why) {
		mw_html_text_in(b, "<p class=\"note\">Ruby lines are found the slow way: ", s->ruby_why,
				".</p>\n");
	}
}

void mw_html_facts(struct mw_buf *b, void *ctx)
{
	struct mw_call *call = ctx;
	const struct mw_stats *s = mw_call_stats(call);
	bool bytes = mw_life_in_bytes(call);

	mw_buf_str(b, "<ul class=\"facts\">\n");
	fact(b, s->live_samples ? "Live \xe2\x89\x88" : "Live", s->live_bytes, true);
	if (s->live_samples)
		fact(b, "\xc2\xb1", s->live_error, true);
	fact(b, "in blocks", s->live, false);
	if (s->before_bytes)
		fact(b, "before the start", s->before_bytes, true);
	fact(b, s->resets ? "Allocated since the reset" : "Allocated", s->total, true);
	fact(b, "Freed", s->freed, true);
	fact(b, "Locations", s->locations, false);
	if (s->retired)
		fact(b, "Retired", s->retired, false);
	fact(b, bytes ? "Allocated so far" : "Collections", s->generation, bytes);
	heap(b, call, s);
	fact(b, "Tracker\xe2\x80\x99s own", s->tracker_bytes, true);
	own_time(b, call);
	mw_buf_str(b, "</ul>\n");
	overruns(b, call, s);
	lookup(b, s);
}

void mw_html_column_begin(struct mw_buf *b, const struct mw_column *c, int order)
{
	mw_buf_str(b, "<th scope=\"col\"");
	put_class(b, c, order);
	if (order)
		mw_buf_str(b, order > 0 ? " aria-sort=\"ascending\"" : " aria-sort=\"descending\"");
	mw_buf_str(b, "><a ");
}

void mw_html_column_end(struct mw_buf *b, const struct mw_column *c, int order)
{
	mw_html_text_in(b, " title=\"", c->about, "\">");
	mw_html_text(b, c->title);
	if (order)
		mw_buf_str(b, order > 0 ? "<span aria-hidden=\"true\"> \xe2\x96\xb2</span>" :
					  "<span aria-hidden=\"true\"> \xe2\x96\xbc</span>");
	mw_buf_str(b, "</a></th>\n");
}
