/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.c - GET /live, and the events of it that aren't rows: "hello", which begins a stream, and
 * "point", which ends each tick. server/history/stream.h has the others.
 */
#include <string.h>
#include <unistd.h>

#include "pages.h"

static void key(struct mw_buf *b, const char *name)
{
	mw_buf_str(b, ",\"");
	mw_buf_str(b, name);
	mw_buf_str(b, "\":");
}

static void key_u64(struct mw_buf *b, const char *name, uint64_t v)
{
	key(b, name);
	mw_buf_u64(b, v);
}

static void key_known(struct mw_buf *b, const char *name, uint64_t v, bool known)
{
	key(b, name);
	mw_buf_known(b, v, known);
}

static void warning(void *ctx, const char *text)
{
	struct mw_buf *b = ctx;

	if (b->p[b->n - 1] != '[')
		mw_buf_str(b, ",");
	mw_buf_json(b, text, strlen(text));
}

void mw_event_point(struct mw_buf *b, void *ctx, double t)
{
	const struct mw_site *s = ctx;
	uint64_t rss = 0;
	bool rss_known = s->statm >= 0 && mw_rss_bytes(s->statm, &rss);
	struct mw_stats stats = { 0 };

	s->api->stats(&stats);
	mw_buf_str(b, "event: point\ndata: {\"t\":");
	mw_buf_seconds(b, t);
	key_known(b, "rss", rss, rss_known);
	key_u64(b, "live", stats.live_bytes);
	key_known(b, "heap", stats.heap_bytes, stats.heap_known);
	key_u64(b, "blocks", stats.live);
	key_u64(b, "locations", stats.locations);
	key_u64(b, "generation", stats.generation);
	key_u64(b, "bt", stats.bt);
	key(b, "paused");
	mw_buf_str(b, stats.paused ? "true" : "false");
	key_u64(b, "overruns", stats.overruns);
	key(b, "warnings");
	mw_buf_str(b, "[");
	if (!b->failed)
		mw_warnings(&stats, warning, b);
	mw_buf_str(b, "]");
	key(b, "mark");
	if (s->mark.set)
		mw_buf_seconds(b, s->mark.at);
	else
		mw_buf_str(b, "null");
	key_u64(b, "resets", stats.resets);
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

	mw_buf_str(b, "event: hello\ndata: {\"pid\":");
	mw_buf_u64(b, (uint64_t)getpid());
	key(b, "title");
	title(b);
	key(b, "version");
	mw_buf_json(b, MWRAP_VERSION, strlen(MWRAP_VERSION));
	key(b, "ruby");
	if (stats->ruby)
		mw_buf_json(b, stats->ruby, strlen(stats->ruby));
	else
		mw_buf_str(b, "null");
	key(b, "uptime");
	mw_buf_seconds(b, mw_site_uptime(call->req->site));
	key(b, "unix");
	mw_buf_seconds(b, mw_unix_now());
	key(b, "life_unit");
	mw_buf_str(b, stats->life_unit && !strcmp(stats->life_unit, "bytes") ? "\"bytes\"" : "\"gc\"");
	key(b, "read_only");
	mw_buf_str(b, mw_read_only(call) ? "true" : "false");
	key(b, "source");
	mw_buf_str(b, o->source ? "true" : "false");
	key(b, "stacks");
	mw_buf_str(b, stats->stacks_rate || stats->stacks ? "true" : "false");
	key(b, "start");
	mw_buf_json(b, call->req->site->stream.start, strlen(call->req->site->stream.start));
	key_u64(b, "tick", 1);
	if (call->req->poll)
		key_u64(b, "poll", call->req->poll);
	mw_buf_str(b, "}\n\n");
}

void mw_page_live(struct mw_call *call)
{
	struct mw_stats stats = { 0 };

	if (!mw_has_site(call))
		return;
	call->api->stats(&stats);
	call->res->status = 200;
	call->res->content_type = "text/event-stream";
	call->res->stream = !strcmp(call->req->method, "GET");
	hello(&call->res->body, call, &stats);
}
