/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats.c - the process's figures: /stats for people, /stats.json for programs. */
#include <string.h>

#include "server/objects/objects.h"
#include "pages.h"

/* Of the site's last second; NULL: not known. */
static const uint32_t *majors(const struct mw_site *site)
{
	const struct mw_point *last = site ? mw_history_last(&site->history) : NULL;

	return last && last->majors != MW_KIB_UNKNOWN ? &last->majors : NULL;
}

static void sampled_objects(struct mw_buf *b, const struct mw_api *api)
{
	struct mw_objects_state s;

	mw_objects_state(api, &s);
	mw_json_open(b, "\nsampled_objects", '{');
	mw_json_str(b, "state", s.is);
	mw_json_str(b, "why", s.why);
	mw_json_u64(b, "noted", s.noted);
	mw_json_u64(b, "samples", s.samples);
	mw_json_u64(b, "ns", s.ns);
	mw_json_u64(b, "missed_collections", s.missed);
	mw_buf_str(b, "}");
}

static void more_stats(struct mw_buf *b, const struct mw_stats *s, void *ctx)
{
	const struct mw_call *call = ctx;

	if (call->req->site)
		mw_limits_json(b, &call->req->site->limits);
	sampled_objects(b, call->api);
	mw_own_cost_json(b, call->req->site ? &call->req->site->own_cost : NULL, s);
}

void mw_page_stats(struct mw_call *call)
{
	const struct mw_site *site = call->req->site;

	mw_reply_form(call, MW_FORM_JSON);
	/* the site's descriptor: one opened here would leak into a child forked meanwhile */
	mw_render_stats_json(&call->res->body, call->api, site ? site->statm : -1, majors(site),
			     more_stats, call);
}

/* --- the page ------------------------------------------------------------------- */

struct view {
	struct mw_call *call;
	const struct mw_stats *s;
	uint64_t rss; /* 0: not known */
};

static void begin_stats_row(struct mw_buf *b, const char *title)
{
	mw_html_text_in(b, "<tr><th scope=\"row\">", title, "</th><td class=\"num\">");
}

static void end_stats_row(struct mw_buf *b, const char *about)
{
	mw_html_text_in(b, "</td><td>", about, "</td></tr>\n");
}

static void bytes(struct mw_buf *b, const char *title, uint64_t v, const char *about)
{
	begin_stats_row(b, title);
	mw_html_bytes(b, v, false);
	end_stats_row(b, about);
}

static void number_row(struct mw_buf *b, const char *title, uint64_t v, const char *about)
{
	begin_stats_row(b, title);
	mw_buf_commas(b, v);
	end_stats_row(b, about);
}

static void text_row(struct mw_buf *b, const char *title, const char *v, const char *about)
{
	if (!v || !*v)
		return;
	begin_stats_row(b, title);
	mw_html_text(b, v);
	end_stats_row(b, about);
}

static void memory(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	const struct mw_stats *s = v->s;

	if (v->rss)
		bytes(b, "RSS", v->rss, "Resident memory, as the system counts it.");
	bytes(b, "Live", s->live_bytes, "Allocated and not freed.");
	number_row(b, "Live blocks", s->live, "These bytes in blocks.");
	if (s->before_bytes)
		bytes(b, "Before the start", s->before_bytes,
		      "Lived when tracking began, with malloc\xe2\x80\x99s own need: in no other number.");
	if (s->heap_known)
		bytes(b, "Ruby\xe2\x80\x99s heap", s->heap_bytes,
		      "Pages for Ruby\xe2\x80\x99s objects, from mmap.");
	bytes(b, "Tracker", s->tracker_bytes, "The tracker\xe2\x80\x99s own tables.");
	if (s->memory_max)
		bytes(b, "Tracker\xe2\x80\x99s ceiling", s->memory_max, "The option memory_max.");
}

static void percent_row(struct mw_buf *b, const char *title, double v, const char *about)
{
	begin_stats_row(b, title);
	if (v >= 0) {
		mw_buf_decimals(b, v, 2);
		mw_buf_str(b, "\xc2\xa0%");
	} else {
		mw_buf_str(b, "\xe2\x80\x93");
	}
	end_stats_row(b, about);
}

static void ns_row(struct mw_buf *b, const char *title, double sum, uint64_t n, const char *about)
{
	if (!n)
		return;
	begin_stats_row(b, title);
	mw_buf_decimals(b, sum / (double)n, 1);
	mw_buf_str(b, "\xc2\xa0ns");
	end_stats_row(b, about);
}

static void own_cost(struct mw_buf *b, void *ctx)
{
	static const struct mw_own_cost unknown = { .seconds = 0 };
	const struct view *v = ctx;
	const struct mw_stats *s = v->s;
	const struct mw_own_cost *c = v->call->req->site ? &v->call->req->site->own_cost : &unknown;

	percent_row(b, "Of the process\xe2\x80\x99s CPU time", mw_own_cost_percent(c),
		    "At most, in the last minute: calls, samples and the tracker\xe2\x80\x99s threads.");
	percent_row(b, "Of one CPU", mw_own_cost_of_cpu(c), "The same, of all the time that passed.");
	ns_row(b, "A malloc", s->clocked_alloc_ns, s->clocked_allocs,
	       "The tracker\xe2\x80\x99s part, at most: a mean of calls that were clocked.");
	ns_row(b, "A free", s->clocked_free_ns, s->clocked_frees, "Likewise.");
	for (int i = 0; i < MW_HELD_N; i++)
		if (s->held[i])
			bytes(b, mw_held_names[i].title, s->held[i], mw_held_names[i].about);
}

static void counted(struct mw_buf *b, void *ctx)
{
	const struct mw_stats *s = ((const struct view *)ctx)->s;
	bool in_bytes = s->life_unit && !strcmp(s->life_unit, "bytes");

	begin_stats_row(b, "Up");
	mw_html_duration(b, s->uptime);
	end_stats_row(b, "Since the tracker was loaded, here or in the process that forked this one.");
	bytes(b, "Allocated", s->total, "Since the start or the last reset.");
	number_row(b, "Allocations", s->allocations, "Calls, since then.");
	bytes(b, "Freed", s->freed, "Since then.");
	number_row(b, "Frees", s->frees, "Calls, since then.");
	number_row(b, "Resets", s->resets, "How often these counters began again at zero.");
	if (in_bytes)
		bytes(b, "Allocated so far", s->generation, "The clock of lifespans.");
	else
		number_row(b, "Collections", s->generation, "GC.count: the clock of lifespans.");
	number_row(b, "Locations", s->locations, "Lines and native callers in the table.");
	number_row(b, "Retired", s->retired, "Locations that left the table: nothing lives there.");
	number_row(b, "Unrecorded blocks", s->lost,
		   "Live blocks missing from every number, for want of memory.");
	number_row(b, "Overruns", s->overruns, "Blocks written past their end.");
	number_row(b, "Double frees", s->double_frees, "Frees of a block that was freed before.");
	number_row(b, "Unknown frees", s->unknown_frees, "Frees of a block that the tracker never saw.");
	number_row(b, "Wrong sizes", s->wrong_sizes, "Blocks freed with another size than was asked for.");
}

static void works(struct mw_buf *b, void *ctx)
{
	const struct mw_stats *s = ((const struct view *)ctx)->s;

	text_row(b, "Ruby", s->ruby, "Its version.");
	text_row(b, "Lines of Ruby", s->ruby_lookup,
		 s->ruby_why && *s->ruby_why ? s->ruby_why : "How they are found.");
	text_row(b, "Path of malloc", s->mode,
		 s->mode_why && *s->mode_why ? s->mode_why : "The steps of each call.");
	text_row(b, "GC.count", s->gc_count, "How it is read.");
	text_row(b, "JIT\xe2\x80\x99s memory", s->ruby_jit,
		 "Where the blocks of Ruby\xe2\x80\x99s compiler count: apart, or at the lines that it compiled.");
	text_row(b, "mwrap", MWRAP_VERSION, "The tracker\xe2\x80\x99s version.");
}

static void stats_page(struct mw_buf *b, void *ctx)
{
	struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->call->req->base },
		{ .name = "memory", .fill = memory, .ctx = v },
		{ .name = "own", .fill = own_cost, .ctx = v },
		{ .name = "counted", .fill = counted, .ctx = v },
		{ .name = "works", .fill = works, .ctx = v },
	};

	mw_template(b, "stats.html", slots, sizeof(slots) / sizeof(slots[0]));
}

void mw_page_stats_page(struct mw_call *call)
{
	struct view v = { .call = call, .s = mw_call_stats(call) };

	if (!call->req->site || call->req->site->statm < 0 || !mw_rss_bytes(call->req->site->statm, &v.rss))
		v.rss = 0;
	mw_reply_page(call, "stats", stats_page, &v);
}
