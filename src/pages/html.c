/* SPDX-License-Identifier: GPL-2.0-or-later */
/* html.c - pieces of pages that several handlers need. See pages.h. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "report/columns.h"
#include "http/assets.h"
#include "pages.h"

void mw_html_text(struct mw_buf *b, const char *s)
{
	mw_buf_html(b, s, strlen(s));
}

void mw_html_number(struct mw_buf *b, uint64_t v)
{
	mw_buf_str(b, "<td class=\"num\">");
	mw_buf_commas(b, v);
	mw_buf_str(b, "</td>");
}

static void cell(struct mw_buf *b, const struct mw_column *column, const struct mw_row *r, bool sorted_by)
{
	struct mw_cell c = { 0 };

	column->get(r, &c);
	mw_buf_str(b, sorted_by ? "<td class=\"num by\">" : "<td class=\"num\">");
	if (c.kind == MW_CELL_NONE)
		mw_buf_str(b, "\xe2\x80\x93"); /* an en dash */
	else
		mw_cell_whole(b, &c);
	mw_buf_str(b, "</td>");
}

void mw_html_cells(struct mw_buf *b, const struct mw_row *r, int sorted_by)
{
	for (int i = 0; i < (r->processes ? MW_FAMILY_COLUMNS_N : MW_COLUMNS_N); i++)
		if (mw_columns[i].type != MW_TYPE_TEXT)
			cell(b, &mw_columns[i], r, i == sorted_by);
}

void mw_html_at_href(struct mw_buf *b, const struct mw_call *call, const struct mw_row *r, const char *ext)
{
	char id[MW_SHORT_ID + 1];
	size_t at;

	mw_buf_str(b, "href=\"");
	mw_html_text(b, call->req->base);
	mw_buf_str(b, "/at/");
	at = b->n;
	mw_percent_encode(b, r->location, r->location_len);
	if (b->n - at > MW_LINK_MAX) {
		b->n = at;
		mw_location_short(r, id);
		mw_buf_str(b, id);
	}
	mw_buf_str(b, ext);
	mw_buf_str(b, "\"");
}

void mw_html_controls(struct mw_buf *b, void *ctx)
{
	const struct mw_call *call = ctx;
	bool paused = call->api->paused();
	const struct mw_slot slots[] = {
		{ .name = "base", .text = call->req->base },
		{ .name = "pause", .text = paused ? "resume" : "pause" },
		{ .name = "pause_title",
		  .text = paused ? "What is allocated from now on is counted again" :
				   "What is allocated until tracking is resumed isn't counted; frees of what is known are" },
		{ .name = "pause_label", .text = paused ? "Resume tracking" : "Pause tracking" },
	};

	if (mw_read_only(call))
		mw_buf_str(b,
			   "<p class=\"note\">Read-only: counters can\xe2\x80\x99t be reset from here.</p>\n");
	else
		mw_template(b, "controls.html", slots, sizeof(slots) / sizeof(slots[0]));
}

/* 3 h 12 min, 12 min 5 s, 5 s */
static void duration(struct mw_buf *b, double seconds)
{
	uint64_t s = seconds > 0 && seconds < 1e15 ? (uint64_t)seconds : 0;

	if (s >= 86400)
		mw_buf_fmt(b, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		mw_buf_fmt(b, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
	else if (s >= 60)
		mw_buf_fmt(b, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		mw_buf_fmt(b, "%" PRIu64 " s", s);
}

static void fact(struct mw_buf *b, const char *name, uint64_t v, const char *unit)
{
	mw_buf_str(b, "<li>");
	mw_buf_str(b, name);
	mw_buf_str(b, " <b>");
	mw_buf_commas(b, v);
	mw_buf_str(b, unit);
	mw_buf_str(b, "</b></li>\n");
}

static void heap(struct mw_buf *b, const struct mw_call *call, const struct mw_stats *s)
{
	if (!s->heap_known)
		return;
	mw_buf_str(b, "<li><a href=\"");
	mw_html_text(b, call->req->base);
	mw_buf_str(b, "/heap_pages\">Ruby\xe2\x80\x99s heap pages</a> <b>");
	mw_buf_commas(b, s->heap_bytes);
	mw_buf_str(b, " bytes</b></li>\n");
}

static void overruns(struct mw_buf *b, const struct mw_call *call, const struct mw_stats *s)
{
	if (!s->overruns)
		return;
	mw_buf_str(b, "<p class=\"warning\"><a href=\"");
	mw_html_text(b, call->req->base);
	mw_buf_str(b, "/overruns\">");
	mw_buf_commas(b, s->overruns);
	mw_buf_str(b, s->overruns == 1 ? " block was" : " blocks were");
	mw_buf_str(b, " written past the end</a>.</p>\n");
}

void mw_warnings(const struct mw_stats *s, void (*say)(void *ctx, const char *text), void *ctx)
{
	struct mw_buf lost = { 0 };

	if (s->paused)
		say(ctx, "Tracking is paused: what is allocated now isn\xe2\x80\x99t counted.");
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

static void warn(void *ctx, const char *text)
{
	struct mw_buf *b = ctx;

	mw_buf_str(b, "<p class=\"warning\">");
	mw_html_text(b, text);
	mw_buf_str(b, "</p>\n");
}

/* Every page has the reasons why numbers are incomplete. */
static void state(struct mw_buf *b, void *ctx)
{
	mw_warnings(ctx, warn, b);
}

static void lookup(struct mw_buf *b, const struct mw_stats *s)
{
	if (s->ruby_lookup && !strcmp(s->ruby_lookup, "public") && s->ruby_why && *s->ruby_why) {
		mw_buf_str(b, "<p class=\"note\">Ruby lines are found the slow way: ");
		mw_html_text(b, s->ruby_why);
		mw_buf_str(b, ".</p>\n");
	}
}

void mw_html_facts(struct mw_buf *b, void *ctx)
{
	const struct mw_call *call = ctx;
	struct mw_stats s = { 0 };
	bool bytes;

	call->api->stats(&s);
	bytes = s.life_unit && !strcmp(s.life_unit, "bytes");
	mw_buf_str(b, "<ul class=\"facts\">\n");
	fact(b, "Live", s.live_bytes, " bytes");
	fact(b, "in blocks", s.live, "");
	fact(b, s.resets ? "Allocated since the reset" : "Allocated", s.total, " bytes");
	fact(b, "Freed", s.freed, " bytes");
	fact(b, "Locations", s.locations, "");
	if (s.retired)
		fact(b, "Retired", s.retired, "");
	fact(b, bytes ? "Bytes so far" : "Collections", s.generation, "");
	heap(b, call, &s);
	fact(b, "Tracker\xe2\x80\x99s own", s.tracker_bytes, " bytes");
	mw_buf_str(b, "</ul>\n");
	overruns(b, call, &s);
	lookup(b, &s);
}

/* The process, or the sum of processes, that a page shows. */
struct whose {
	const struct mw_call *call;
	struct mw_stats stats;
};

static void process(struct mw_buf *b, void *ctx)
{
	const struct mw_stats *s = &((const struct whose *)ctx)->stats;

	if (s->processes) {
		mw_buf_fmt(b, "sum of %" PRIu32 " processes", s->processes);
		return;
	}
	mw_buf_fmt(b, "pid %ld, up ", (long)getpid());
	duration(b, s->uptime);
}

/* The URL of an asset; with its content's version, browsers cache it for ever. */
static void asset_url(struct mw_buf *b, const struct mw_call *call, const char *name)
{
	const struct mw_web_file *f = mw_asset(name);

	mw_html_text(b, call->req->base);
	mw_buf_fmt(b, "/%s", name);
	if (f)
		mw_buf_fmt(b, "?v=%s", f->version);
}

static void nav_link(struct mw_buf *b, const char *base, const char *path, const char *name)
{
	mw_buf_str(b, "<a href=\"");
	mw_html_text(b, base);
	mw_buf_fmt(b, "%s\">%s</a> ", path, name);
}

/* Links to the pages that exist for this request. */
static void nav(struct mw_buf *b, void *ctx)
{
	const struct whose *w = ctx;
	const struct mw_request *req = w->call->req;
	bool sum = w->stats.processes;

	nav_link(b, req->base, "/each/2000", "Locations");
	if (!sum)
		nav_link(b, req->base, "/heap_pages", "Heap pages");
	if (!sum && req->peer == MW_PEER_RACK) /* the Rack side can ask Ruby itself */
		nav_link(b, req->base, "/objects", "Objects");
	nav_link(b, req->base, "/overruns", "Overruns");
	if (req->mount) /* the family's pages are reachable */
		nav_link(b, req->mount, "/family", "Processes");
	if (!sum)
		nav_link(b, req->base, "/stats.json", "Stats");
}

void mw_html_css(struct mw_buf *b, const struct mw_call *call)
{
	asset_url(b, call, "mwrap.css");
}

static void css(struct mw_buf *b, void *ctx)
{
	mw_html_css(b, ctx);
}

/* The logout button, if the request came with a session. */
static void logout(struct mw_buf *b, void *ctx)
{
	const struct mw_call *call = ctx;

	if (!call->session)
		return;
	mw_buf_str(b, "<form class=\"logout\" action=\"");
	mw_html_text(b, call->req->base);
	mw_buf_str(b, "/logout\" method=\"post\"><button>Log out</button></form>\n");
}

static void script(struct mw_buf *b, void *ctx)
{
	struct mw_call *call = ctx;

	if (!call->script || !mw_asset("dist/mwrap.js"))
		return;
	call->res->script = true;
	if (mw_asset("dist/uplot.css")) {
		mw_buf_str(b, "<link rel=\"stylesheet\" href=\"");
		asset_url(b, call, "dist/uplot.css");
		mw_buf_str(b, "\">\n");
	}
	mw_buf_str(b, "<script type=\"module\" src=\"");
	asset_url(b, call, "dist/mwrap.js");
	mw_buf_str(b, "\"></script>\n");
}

void mw_reply_page(struct mw_call *call, const char *title, void (*fill)(struct mw_buf *, void *), void *ctx)
{
	struct whose whose = { .call = call };
	const struct mw_slot slots[] = {
		{ .name = "title", .text = title },
		{ .name = "base", .text = call->req->base },
		{ .name = "version", .text = MWRAP_VERSION },
		{ .name = "nav", .fill = nav, .ctx = &whose },
		{ .name = "css", .fill = css, .ctx = call },
		{ .name = "script", .fill = script, .ctx = call },
		{ .name = "logout", .fill = logout, .ctx = call },
		{ .name = "process", .fill = process, .ctx = &whose },
		{ .name = "state", .fill = state, .ctx = &whose.stats },
		{ .name = "main", .fill = fill, .ctx = ctx },
	};

	call->api->stats(&whose.stats);
	mw_reply_form(call, MW_FORM_HTML);
	mw_template(&call->res->body, "layout.html", slots, sizeof(slots) / sizeof(slots[0]));
}
