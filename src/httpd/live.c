/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.c - serves watchers: GET /live, an answer without an end.
 *
 * A watcher holds one event at a time, and the number of the last tick that it got; everything else
 * is in the site's journal (../pages/site.h). A watcher that doesn't read holds up no other: its
 * event waits, it misses ticks, and then gets what changed since. After MW_STALL_MS without reading
 * it is dropped.
 *
 * A connection with nothing to send is suspended: libmicrohttpd forgets its descriptor until the
 * next tick resumes it, here. (In a daemon that runs in its caller's loop, libmicrohttpd makes no
 * descriptor for this.) Meanwhile libmicrohttpd wouldn't see the client go: the loop's own epoll
 * does.
 *
 * Without watchers there is no tick, no snapshot and no journal.
 *
 * The server's thread only, except in a forked child. All must be resumed before MHD_stop_daemon():
 * libmicrohttpd panics otherwise.
 */
#include <errno.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/times.h"
#include "server.h"

#define TICK_MS 1000u
#define TICK_MS_MAX 60000u
#define TICK_SHARE 200u     /* a tick's CPU time is at most 1/TICK_SHARE of the interval */

struct watcher {
	struct MHD_Connection *mc; /* NULL: slot is free */
	struct mw_conn *conn;
	bool suspended;
	bool ended;          /* the client has gone: nothing more is sent */
	struct mw_cursor cursor;
	uint32_t point_tick;
	struct mw_buf out;   /* an event */
	size_t sent;         /* bytes of `out` */
	uint64_t spoke;      /* ms; when the last event was begun */
};

static struct watcher watchers[MW_WATCHERS_MAX];
static unsigned watching;
static uint64_t next_tick; /* ms; valid while there are watchers */

/* --- one watcher ------------------------------------------------------------------- */

static void resume(struct watcher *w)
{
	if (!w->mc || !w->suspended)
		return;
	w->suspended = false;
	MHD_resume_connection(w->mc);
}

/* Puts the next event into w->out. False: there is none. */
static bool refill(struct watcher *w, uint64_t now)
{
	if (w->out.cap > MW_EVENT_BYTES / 4)
		mw_buf_free(&w->out);
	w->out.n = w->sent = 0;
	if (!mw_site_next(&mw_server.site, &w->cursor, &w->point_tick, &w->out) &&
	    now - w->spoke >= MW_SILENCE_MS)
		mw_buf_str(&w->out, ":\n\n");
	if (w->out.failed) { /* half an event would be invalid */
		mw_buf_free(&w->out);
		w->ended = true;
	}
	if (!w->out.n)
		return false;
	w->spoke = now;
	return true;
}

static ssize_t read_event(void *cls, uint64_t pos, char *to, size_t max)
{
	struct watcher *w = cls;
	uint64_t now = mw_now_ms();
	size_t n;

	(void)pos;
	w->conn->since = now; /* it reads */
	if (!w->ended && w->sent == w->out.n)
		(void)refill(w, now);
	if (w->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	n = w->out.n - w->sent < max ? w->out.n - w->sent : max;
	if (!n) {
		w->suspended = true;
		MHD_suspend_connection(w->mc);
		return 0;
	}
	memcpy(to, w->out.p + w->sent, n);
	w->sent += n;
	return (ssize_t)n;
}

static void leave(void *cls)
{
	struct watcher *w = cls;

	mw_cursor_free(&w->cursor);
	mw_buf_free(&w->out);
	*w = (struct watcher){ 0 };
	if (!--watching)
		mw_site_unwatched(&mw_server.site, mw_server.api);
}

/* Lets the loop see the client's end once; watches a slot's new client again. */
static bool hear_of_end(struct mw_conn *c)
{
	struct epoll_event ev = { .events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c };

	return !epoll_ctl(mw_server.epfd, EPOLL_CTL_ADD, c->fd, &ev) ||
	       (errno == EEXIST && !epoll_ctl(mw_server.epfd, EPOLL_CTL_MOD, c->fd, &ev));
}

static struct watcher *free_one(void)
{
	/* watchers leave room for other clients */
	unsigned max =
		mw_server.conns_max / 2 < MW_WATCHERS_MAX ? mw_server.conns_max / 2 : MW_WATCHERS_MAX;

	for (unsigned i = 0; i < max; i++)
		if (!watchers[i].mc)
			return &watchers[i];
	return NULL;
}

struct MHD_Response *mw_live_open(struct MHD_Connection *mc, struct mw_conn *c, struct mw_buf *first)
{
	struct watcher *w = c ? free_one() : NULL;
	uint64_t now = mw_now_ms();
	struct MHD_Response *r;

	if (!w || !hear_of_end(c))
		return NULL;
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 << 10, read_event, w, leave);
	if (!r)
		return NULL;
	*w = (struct watcher){ .mc = mc, .conn = c, .out = *first, .spoke = now };
	*first = (struct mw_buf){ 0 };
	if (!watching++)
		next_tick = now;
	/* a silent watcher is fine; MW_STALL_MS drops one that doesn't read */
	MHD_set_connection_option(mc, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	mw_conn_phase(c, MW_CONN_WATCHING, now);
	return r;
}

/* --- all of them ----------------------------------------------------------------------- */

void mw_live_hangup(struct mw_conn *c)
{
	char byte;

	if (c->fd < 0 || c->phase != MW_CONN_WATCHING || recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		return;
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++) {
		if (watchers[i].mc && watchers[i].conn == c) {
			watchers[i].ended = true;
			resume(&watchers[i]);
		}
	}
}

bool mw_live_waits(const struct mw_conn *c)
{
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		if (watchers[i].mc && watchers[i].conn == c)
			return watchers[i].suspended;
	return false;
}

static void tick(uint64_t now)
{
	uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), ms;
	bool had_some = mw_server.site.journal.tick != 0 && mw_server.site.journal.snapshot;

	(void)mw_site_tick(&mw_server.site, mw_server.api); /* no memory: the next tick retries */
	ms = (mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) * TICK_SHARE / 1000000;
	/* the first tick names and sorts everything; later ones only compare */
	if (!had_some || ms < TICK_MS)
		ms = TICK_MS;
	next_tick = now + (ms < TICK_MS_MAX ? ms : TICK_MS_MAX);
}

void mw_live_run(uint64_t now)
{
	if (!watching)
		return;
	if (now >= next_tick) {
		tick(now);
		for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
			resume(&watchers[i]);
	}
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		if (watchers[i].mc && now - watchers[i].spoke >= MW_SILENCE_MS)
			resume(&watchers[i]);
}

int mw_live_due(uint64_t now)
{
	uint64_t due = next_tick;

	if (!watching)
		return -1;
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		if (watchers[i].suspended && watchers[i].spoke + MW_SILENCE_MS < due)
			due = watchers[i].spoke + MW_SILENCE_MS;
	return due > now ? (int)(due - now) : 0;
}

void mw_live_close(void)
{
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++) {
		watchers[i].ended = true;
		resume(&watchers[i]);
	}
}

void mw_live_reset(void)
{
	memset(watchers, 0, sizeof(watchers));
	watching = 0;
}
