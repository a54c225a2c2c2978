/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.c - GET /live, and the events of it that aren't rows: "hello", which begins a stream, and
 * "point", which ends each tick. server/history/stream.h has the others.
 */
#include <string.h>
#include <unistd.h>

#include "pages.h"

static void warning(void *ctx, const char *text)
{
	mw_json_str(ctx, NULL, text);
}

void mw_event_point(struct mw_buf *b, void *ctx, double t)
{
	const struct mw_site *s = ctx;
	uint64_t rss = 0;
	bool rss_known = s->statm >= 0 && mw_rss_bytes(s->statm, &rss);
	struct mw_stats stats = { 0 };

	s->api->stats(&stats);
	mw_buf_str(b, "event: point\ndata: {");
	mw_json_seconds(b, "t", t);
	mw_json_known(b, "rss", rss, rss_known);
	mw_json_u64(b, "live", stats.live_bytes);
	mw_json_known(b, "heap", stats.heap_bytes, stats.heap_known);
	mw_json_u64(b, "blocks", stats.live);
	mw_json_u64(b, "locations", stats.locations);
	mw_json_u64(b, "generation", stats.generation);
	mw_json_u64(b, "bt", stats.bt);
	mw_json_bool(b, "paused", stats.paused);
	mw_json_bool(b, "sampled", stats.sampled);
	mw_json_u64(b, "live_samples", stats.live_samples);
	mw_json_u64(b, "live_error", stats.live_error);
	mw_json_u64(b, "overruns", stats.overruns);
	mw_json_open(b, "warnings", '[');
	if (!b->failed)
		mw_warnings(&stats, warning, b);
	mw_buf_str(b, "]");
	if (s->mark.set)
		mw_json_seconds(b, "mark", s->mark.at);
	else
		mw_json_str(b, "mark", NULL);
	mw_json_u64(b, "resets", stats.resets);
	mw_buf_str(b, "}\n\n");
}

/* The command line, as setproctitle and the like leave it. */
static void title(struct mw_buf *b)
{
	char text[512];
	size_t n = mw_read_start("/proc/self/cmdline", text, sizeof(text));

	while (n && (text[n - 1] == '\0' || text[n - 1] == ' '))
		n--;
	for (size_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	mw_buf_json(b, text, n);
}

static void hello(struct mw_buf *b, const struct mw_call *call, const struct mw_stats *stats)
{
	const struct mw_options *o = call->api->options();

	mw_buf_str(b, "event: hello\ndata: {");
	mw_json_u64(b, "pid", (uint64_t)getpid());
	mw_json_key(b, "title");
	title(b);
	mw_json_str(b, "version", MWRAP_VERSION);
	mw_json_str(b, "ruby", stats->ruby);
	mw_json_seconds(b, "uptime", mw_site_uptime(call->req->site));
	mw_json_seconds(b, "unix", mw_unix_now());
	mw_json_str(b, "life_unit",
		    stats->life_unit && !strcmp(stats->life_unit, "bytes") ? "bytes" : "gc");
	mw_json_bool(b, "read_only", mw_read_only(call));
	mw_json_bool(b, "source", o->source);
	mw_json_bool(b, "stacks", stats->stacks_rate || stats->stacks);
	mw_json_str(b, "start", call->req->site->stream.start);
	mw_json_u64(b, "tick", 1);
	if (call->req->poll)
		mw_json_u64(b, "poll", call->req->poll);
	mw_buf_str(b, "}\n\n");
}

void mw_page_live(struct mw_call *call)
{
	struct mw_stats stats = { 0 };

	call->api->stats(&stats);
	call->res->status = 200;
	call->res->content_type = "text/event-stream";
	call->res->stream = !strcmp(call->req->method, "GET");
	hello(&call->res->body, call, &stats);
}
