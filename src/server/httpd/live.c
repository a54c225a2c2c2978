/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live.c - carries the site's stream (server/history/stream.h) to those who GET /live here.
 *
 * A connection with nothing to send is suspended: libmicrohttpd forgets its descriptor until the
 * next tick resumes it, here. (In a daemon that runs in its caller's loop, libmicrohttpd makes no
 * descriptor for this.) Meanwhile libmicrohttpd wouldn't see the client go: the loop's own epoll
 * does. A watcher that reads nothing for MW_STALL_MS is dropped (connections.c).
 *
 * The server's thread only, except in a forked child. All must be resumed before MHD_stop_daemon():
 * libmicrohttpd panics otherwise.
 */
#include "live.h"

#include <string.h>
#include <sys/socket.h>

#include "shared/sys/clock.h"
#include "server/history/stream.h"
#include "connections.h"
#include "server/http/gzip.h"
#include "server/httpd/library/library.h"
#include "own_site.h"

struct seat {
	struct MHD_Connection *mc; /* NULL: it is free */
	struct mw_conn *conn;
	bool suspended;
	struct mw_gzip gzip; /* open: its client takes gzip */
	struct mw_watcher w;
};

static struct seat seats[MW_WATCHERS_MAX];
static uint32_t seen; /* ticks of the stream; MwrapRack's watchers make some, too */

/* --- one watcher ------------------------------------------------------------------- */

static void resume_seat(struct seat *s)
{
	if (!s->mc || !s->suspended)
		return;
	s->suspended = false;
	mw_mhd->resume_connection(s->mc);
}

static void end_seat(struct seat *s)
{
	if (!s->mc)
		return;
	mw_watcher_end(&mw_own_site()->stream, &s->w);
	resume_seat(s);
}

/* Copies or compresses some of the bytes; 0: zlib holds all that it took. */
static size_t take_stream_bytes(struct seat *s, const char *p, size_t n, char *to, size_t max, uint64_t now)
{
	size_t wrote, took;

	if (s->gzip.open) {
		wrote = mw_gzip_take(&s->gzip, p, n, &took, to, max);
	} else {
		wrote = took = n < max ? n : max;
		memcpy(to, p, took);
	}
	mw_watcher_took(&s->w, took, now);
	return wrote;
}

static ssize_t read_event(void *cls, uint64_t pos, char *to, size_t max)
{
	struct seat *s = cls;
	uint64_t now = mw_now_ms();
	const char *p;
	size_t n = 0;

	(void)pos;
	s->conn->since = now; /* it reads */
	while (!n) {
		switch (mw_watcher_next(&mw_own_site()->stream, &s->w, now, &p, &n)) {
		case MW_NEXT_END:
			n = s->gzip.open ? mw_gzip_finish(&s->gzip, to, max) : 0;
			return n ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
		case MW_NEXT_LATER:
			n = s->gzip.open ? mw_gzip_flush(&s->gzip, to, max) : 0;
			if (n)
				break;
			s->suspended = true;
			mw_mhd->suspend_connection(s->mc);
			return 0;
		case MW_NEXT_BYTES:
			n = take_stream_bytes(s, p, n, to, max, now);
			break;
		}
	}
	return (ssize_t)n;
}

static void leave(void *cls)
{
	struct seat *s = cls;

	mw_gzip_end(&s->gzip);
	mw_watcher_free(&mw_own_site()->stream, &s->w);
	*s = (struct seat){ 0 };
	(void)mw_stream_idle(&mw_own_site()->stream, mw_now_ms());
}

static struct seat *free_one(void)
{
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		if (!seats[i].mc)
			return &seats[i];
	return NULL;
}

/* *gzip: the client takes that, and then whether it gets it. */
struct MHD_Response *mw_live_open(struct MHD_Connection *mc, struct mw_conn *c, struct mw_buf *first,
				  bool *gzip)
{
	struct mw_stream *stream = &mw_own_site()->stream;
	struct seat *s = c ? free_one() : NULL;
	uint64_t now = mw_now_ms();
	struct MHD_Response *r;

	/* watchers leave room for other clients */
	if (!s || !mw_watcher_join(stream, &s->w, first, mw_connections_max() / 2, now))
		return NULL;
	s->mc = mc;
	s->conn = c;
	*gzip = *gzip && mw_gzip_begin(&s->gzip);
	r = mw_conn_hear_of_end(c) ?
		    mw_mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, 16 << 10, read_event, s, leave) :
		    NULL;
	if (!r) {
		leave(s);
		return NULL;
	}
	/* a silent watcher is fine; MW_STALL_MS drops one that doesn't read */
	mw_mhd->set_connection_option(mc, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	mw_conn_phase(c, MW_CONN_WATCHING, now);
	return r;
}

/* --- all of them ----------------------------------------------------------------------- */

void mw_live_hangup(struct mw_conn *c)
{
	char byte;

	if (c->fd < 0 || c->phase != MW_CONN_WATCHING || recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		return;
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		if (seats[i].conn == c)
			end_seat(&seats[i]);
}

bool mw_live_waits(const struct mw_conn *c)
{
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		if (seats[i].mc && seats[i].conn == c)
			return seats[i].suspended;
	return false;
}

void mw_live_run(uint64_t now)
{
	struct mw_stream *s = &mw_own_site()->stream;
	bool ticked;

	(void)mw_stream_run(s, now);
	ticked = s->ticks != seen;
	seen = s->ticks;
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		if (seats[i].mc && (ticked || now >= mw_watcher_due(&seats[i].w)))
			resume_seat(&seats[i]);
}

int mw_live_due(uint64_t now)
{
	uint64_t due = mw_stream_due(&mw_own_site()->stream, now);

	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		if (seats[i].suspended && mw_watcher_due(&seats[i].w) < due)
			due = mw_watcher_due(&seats[i].w);
	if (due == UINT64_MAX)
		return -1;
	return due > now ? (int)(due - now) : 0;
}

void mw_live_close(void)
{
	for (unsigned i = 0; i < MW_WATCHERS_MAX; i++)
		end_seat(&seats[i]);
}

void mw_live_reset(void)
{
	memset(seats, 0, sizeof(seats));
}
