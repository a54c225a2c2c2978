/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site.c - history, mark and journal of a server. See site.h. */
#include "site.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "pages.h"

/* The CPU time a second that reading the live bytes may cost. */
#define LIVE_NS_A_SECOND UINT64_C(500000)

void mw_site_start(struct mw_site *s, const struct mw_api *api)
{
	struct mw_stats stats = { 0 };
	uint64_t now = mw_now_ms(), up;

	if (!atomic_load(&s->busy))
		mw_site_end(s, api);
	memset(s, 0, sizeof(*s));
	s->statm = -1;
	api->stats(&stats);
	up = stats.uptime > 0 && stats.uptime < 1e12 ? (uint64_t)(stats.uptime * 1000) : 0;
	s->origin_ms = now - up; /* may wrap if a test's uptime is longer than the machine's */
	snprintf(s->start, sizeof(s->start), "%ld-%llu", (long)getpid(), (unsigned long long)now);
}

void mw_site_end(struct mw_site *s, const struct mw_api *api)
{
	mw_journal_free(&s->journal, api);
	mw_mark_clear(&s->mark);
	mw_buf_free(&s->point);
}

double mw_site_uptime(const struct mw_site *s)
{
	return (double)(mw_now_ms() - s->origin_ms) / 1000;
}

static uint32_t heap_kib(const struct mw_stats *stats)
{
	return stats->heap_known ? mw_kib(stats->heap_bytes) : MW_KIB_UNKNOWN;
}

/*
 * The sums cost more with a larger table: they are read every second while
 * cheap, else less often; meanwhile the last figures count.
 */
static void read_live(struct mw_site *s, const struct mw_api *api, uint32_t t, uint32_t *heap)
{
	uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), cost;
	struct mw_stats stats = { 0 };

	if (t < s->live_next) {
		*heap = s->history.fine_n ? s->history.fine[(s->history.fine_n - 1) % MW_FINE_N].heap :
					    MW_KIB_UNKNOWN;
		return;
	}
	api->stats(&stats);
	cost = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	s->live_kib = mw_kib(stats.live_bytes);
	s->live_next = t + 1 + (uint32_t)(cost / LIVE_NS_A_SECOND > 59 ? 59 : cost / LIVE_NS_A_SECOND);
	*heap = heap_kib(&stats);
}

unsigned mw_site_second(struct mw_site *s, const struct mw_api *api, int statm)
{
	uint64_t up = mw_now_ms() - s->origin_ms, rss;
	uint32_t last = s->history.fine_n ? s->history.fine[(s->history.fine_n - 1) % MW_FINE_N].t : 0;
	struct mw_point p = { .t = (uint32_t)(up / 1000), .rss = MW_KIB_UNKNOWN };

	s->statm = statm;
	if (!s->history.fine_n || p.t > last) {
		read_live(s, api, p.t, &p.heap);
		p.live = s->live_kib;
		if (statm >= 0 && mw_rss_bytes(statm, &rss))
			p.rss = mw_kib(rss);
		mw_history_add(&s->history, p);
	}
	return 1000 - (unsigned)(up % 1000);
}

/* --- events ---------------------------------------------------------------------- */

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
	if (known) {
		key_u64(b, name, v);
	} else {
		key(b, name);
		mw_buf_str(b, "null");
	}
}

static void warning(void *ctx, const char *text)
{
	struct mw_buf *b = ctx;

	if (b->p[b->n - 1] != '[')
		mw_buf_str(b, ",");
	mw_buf_json(b, text, strlen(text));
}

static void make_point(struct mw_buf *b, const struct mw_site *s, const struct mw_stats *stats)
{
	uint64_t rss = 0;
	bool rss_known = s->statm >= 0 && mw_rss_bytes(s->statm, &rss);

	mw_buf_str(b, "event: point\ndata: {\"t\":");
	mw_buf_seconds(b, s->ticked);
	key_known(b, "rss", rss, rss_known);
	key_u64(b, "live", stats->live_bytes);
	key_known(b, "heap", stats->heap_bytes, stats->heap_known);
	key_u64(b, "blocks", stats->live);
	key_u64(b, "locations", stats->locations);
	key_u64(b, "generation", stats->generation);
	key(b, "paused");
	mw_buf_str(b, stats->paused ? "true" : "false");
	key_u64(b, "overruns", stats->overruns);
	key(b, "warnings");
	mw_buf_str(b, "[");
	if (!b->failed)
		mw_warnings(stats, warning, b);
	mw_buf_str(b, "]");
	key(b, "mark");
	if (s->mark.set)
		mw_buf_seconds(b, s->mark.at);
	else
		mw_buf_str(b, "null");
	key_u64(b, "resets", stats->resets);
	mw_buf_str(b, "}\n\n");
}

int mw_site_tick(struct mw_site *s, const struct mw_api *api)
{
	struct mw_stats stats = { 0 };
	struct mw_buf point = { 0 };
	int rc;

	atomic_fetch_add(&s->busy, 1);
	rc = mw_journal_tick(&s->journal, api, &s->mark);
	if (!rc) {
		s->ticked = mw_site_uptime(s);
		api->stats(&stats);
		make_point(&point, s, &stats);
		if (point.failed) {
			mw_buf_free(&point);
		} else {
			mw_buf_free(&s->point);
			s->point = point;
			s->point_tick = s->journal.tick;
		}
	}
	atomic_fetch_sub(&s->busy, 1);
	return rc;
}

void mw_site_unwatched(struct mw_site *s, const struct mw_api *api)
{
	atomic_fetch_add(&s->busy, 1);
	mw_journal_free(&s->journal, api);
	mw_buf_free(&s->point);
	atomic_fetch_sub(&s->busy, 1);
}

bool mw_site_next(struct mw_site *s, struct mw_cursor *c, uint32_t *point_tick, struct mw_buf *b)
{
	static const char head[] = "event: rows\ndata: ";
	bool any;

	atomic_fetch_add(&s->busy, 1);
	mw_buf_str(b, head);
	any = mw_journal_event(&s->journal, c, b, s->ticked);
	if (any) {
		mw_buf_str(b, "\n\n");
	} else {
		b->n = 0;
		if (s->point.n && *point_tick != s->point_tick) {
			mw_buf_add(b, s->point.p, s->point.n);
			*point_tick = s->point_tick;
			any = true;
		}
	}
	atomic_fetch_sub(&s->busy, 1);
	return any;
}

/* --- pages ------------------------------------------------------------------------- */

static bool has_site(struct mw_call *call)
{
	if (call->req->site)
		return true;
	mw_reply(call, 503, "marks belong to one process, as do history and /live: use /PID/mark");
	return false;
}

static double unix_now(void)
{
	return (double)(mw_clock_ns(CLOCK_REALTIME) / 1000000) / 1000;
}

void mw_page_history(struct mw_call *call)
{
	struct mw_buf *b = &call->res->body, history = { 0 };

	if (!has_site(call))
		return;
	mw_reply_form(call, MW_FORM_JSON);
	/* `start` names the process: behind a Rack server any worker may answer */
	mw_buf_str(b, "{\"start\":");
	mw_buf_json(b, call->req->site->start, strlen(call->req->site->start));
	mw_buf_str(b, ",\n");
	mw_history_render(&history, &call->req->site->history, mw_site_uptime(call->req->site), unix_now());
	if (history.failed)
		b->failed = true;
	else
		mw_buf_add(b, history.p + 1, history.n - 1); /* its members join the object */
	mw_buf_free(&history);
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
	mw_buf_seconds(b, unix_now());
	key(b, "life_unit");
	mw_buf_str(b, stats->life_unit && !strcmp(stats->life_unit, "bytes") ? "\"bytes\"" : "\"gc\"");
	key(b, "read_only");
	mw_buf_str(b, mw_read_only(call) ? "true" : "false");
	key(b, "source");
	mw_buf_str(b, o->source ? "true" : "false");
	key(b, "start");
	mw_buf_json(b, call->req->site->start, strlen(call->req->site->start));
	key_u64(b, "tick", 1);
	if (call->req->poll)
		key_u64(b, "poll", call->req->poll);
	mw_buf_str(b, "}\n\n");
}

void mw_page_live(struct mw_call *call)
{
	struct mw_stats stats = { 0 };

	if (!has_site(call))
		return;
	call->api->stats(&stats);
	call->res->status = 200;
	call->res->content_type = "text/event-stream";
	call->res->stream = !strcmp(call->req->method, "GET");
	hello(&call->res->body, call, &stats);
}

static int set_mark(struct mw_site *s, const struct mw_api *api)
{
	struct mw_snapshot *snapshot = api->snapshot();
	int rc = -1;

	atomic_fetch_add(&s->busy, 1);
	if (snapshot) {
		rc = mw_mark_set(&s->mark, snapshot, mw_site_uptime(s));
		api->snapshot_free(snapshot);
	}
	if (!rc)
		mw_history_mark(&s->history, s->mark.at);
	atomic_fetch_sub(&s->busy, 1);
	return rc;
}

void mw_page_mark(struct mw_call *call)
{
	struct mw_buf none = { 0 };

	if (!has_site(call))
		return;
	if (set_mark(call->req->site, call->api))
		mw_reply_why(call, 500, &none);
	else
		mw_done(call, "mark: growth is also counted from here",
			"Marked: growth since this moment is shown, too.");
}

void mw_page_mark_clear(struct mw_call *call)
{
	struct mw_site *s = call->req->site;

	if (!has_site(call))
		return;
	atomic_fetch_add(&s->busy, 1);
	mw_mark_clear(&s->mark);
	atomic_fetch_sub(&s->busy, 1);
	mw_done(call, "mark: there is none now", "The mark is taken away.");
}
