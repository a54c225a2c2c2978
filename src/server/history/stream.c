/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream.c - ticks, and what watchers get of them. See stream.h. */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/sys/clock.h"
#include "shared/sys/times.h"

#define TICK_MS 1000u
#define TICK_MS_MAX 60000u
#define TICK_SHARE 200u /* a tick's CPU time is at most 1/TICK_SHARE of the interval */

/* Sequentially consistent: what a call changes is changed after the one and before the other. */
static void begin_change(struct mw_stream *s)
{
	atomic_fetch_add(&s->busy, 1);
}

static void done(struct mw_stream *s)
{
	atomic_fetch_sub(&s->busy, 1);
}

/* --- the stream ---------------------------------------------------------------------- */

static void forget(struct mw_stream *s)
{
	mw_journal_free(&s->journal, s->inputs.api);
	mw_buf_free(&s->ending);
}

void mw_stream_start(struct mw_stream *s, const struct mw_stream_inputs *inputs)
{
	uint64_t begun = atomic_load_explicit(&s->watching, memory_order_relaxed) >> 32;

	if (s->inputs.api && !atomic_load(&s->busy))
		forget(s);
	s->journal = (struct mw_journal){ 0 };
	s->ending = (struct mw_buf){ 0 };
	/* `journal_n` goes on: a watcher from before is of none of the journals that come */
	s->first = s->ending_tick = 0;
	s->ticked = 0;
	s->due = s->kept_until = 0;
	s->inputs = *inputs;
	snprintf(s->start, sizeof(s->start), "%ld-%llu", (long)getpid(), (unsigned long long)mw_now_ms());
	atomic_store_explicit(&s->watching, ((begun + 1) & UINT32_MAX ? begun + 1 : 1) << 32,
			      memory_order_relaxed);
	atomic_store(&s->busy, 0);
}

void mw_stream_end(struct mw_stream *s)
{
	begin_change(s);
	forget(s);
	done(s);
}

/* Keeps the last ending if there is no memory for another. */
static void make_ending(struct mw_stream *s)
{
	struct mw_buf ending = { 0 };

	s->inputs.ending(&ending, s->inputs.ctx, s->ticked);
	if (ending.failed) {
		mw_buf_free(&ending);
		return;
	}
	mw_buf_free(&s->ending);
	s->ending = ending;
	s->ending_tick = s->journal.tick;
}

static void tick(struct mw_stream *s, uint64_t now)
{
	uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), ms;
	bool had = s->journal.snapshot;

	begin_change(s);
	s->ticks++;
	/* without memory all is as it was, and the next tick may have some */
	if (!mw_journal_tick(&s->journal, s->inputs.api, s->inputs.mark)) {
		if (!had) {
			s->first = s->journal.tick;
			s->journal_n++;
		}
		s->ticked = (double)(mw_now_ms() - s->inputs.origin_ms) / 1000;
		make_ending(s);
	}
	done(s);
	ms = (mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) * TICK_SHARE / 1000000;
	/* the first tick names and sorts everything; later ones only compare */
	if (!had || ms < TICK_MS)
		ms = TICK_MS;
	s->due = now + (ms < TICK_MS_MAX ? ms : TICK_MS_MAX);
}

static bool watched(const struct mw_stream *s, uint64_t now)
{
	return (uint32_t)atomic_load_explicit(&s->watching, memory_order_relaxed) || now < s->kept_until;
}

bool mw_stream_run(struct mw_stream *s, uint64_t now)
{
	if (now < mw_stream_due(s, now))
		return false;
	tick(s, now);
	return true;
}

uint64_t mw_stream_due(const struct mw_stream *s, uint64_t now)
{
	return watched(s, now) ? s->due : UINT64_MAX;
}

bool mw_stream_idle(struct mw_stream *s, uint64_t now)
{
	if (watched(s, now))
		return false;
	begin_change(s);
	forget(s);
	done(s);
	return true;
}

/* --- a watcher ------------------------------------------------------------------------- */

bool mw_watcher_join(struct mw_stream *s, struct mw_watcher *w, struct mw_buf *first, unsigned max,
		     uint64_t now)
{
	uint64_t n = atomic_load_explicit(&s->watching, memory_order_relaxed);

	do /* others only leave meanwhile */
		if ((uint32_t)n >= max || (uint32_t)n >= MW_WATCHERS_MAX)
			return false;
	while (!atomic_compare_exchange_weak_explicit(&s->watching, &n, n + 1, memory_order_relaxed,
						      memory_order_relaxed));
	*w = (struct mw_watcher){ .begun = (uint32_t)(n >> 32), .out = *first, .spoke = now, .took = now };
	*first = (struct mw_buf){ 0 };
	if (!s->journal.snapshot)
		s->due = now;
	return true;
}

/* Reads "START:TICK". False: it isn't of this journal. */
static bool resume_watcher(const struct mw_stream *s, struct mw_watcher *w, const char *since)
{
	size_t n = strlen(s->start);
	unsigned long at;

	if (!s->journal.snapshot || strncmp(since, s->start, n) || since[n] != ':' ||
	    since[n + 1] < '0' || since[n + 1] > '9')
		return false;
	at = strtoul(since + n + 1, NULL, 10);
	if (at < s->first || at > s->journal.tick)
		return false;
	w->cursor.got = w->ending_tick = (uint32_t)at;
	w->journal_n = s->journal_n;
	return true;
}

bool mw_watcher_poll(struct mw_stream *s, struct mw_watcher *w, const char *since, uint64_t now)
{
	bool resumed;

	*w = (struct mw_watcher){ .polls = true, .spoke = now, .took = now };
	resumed = since && resume_watcher(s, w, since);
	s->kept_until = now + MW_RESUME_MS;
	if (!s->journal.snapshot)
		tick(s, now);
	return resumed;
}

/* Appends rows, else the ending. False: nothing is new. */
static bool news(struct mw_stream *s, struct mw_watcher *w)
{
	if (!s->journal.snapshot)
		return false;
	if (w->journal_n != s->journal_n) {
		mw_cursor_free(&w->cursor);
		w->ending_tick = 0;
		w->journal_n = s->journal_n;
	}
	mw_buf_str(&w->out, "event: rows\ndata: ");
	if (mw_journal_event(&s->journal, &w->cursor, &w->out, s->ticked)) {
		mw_buf_str(&w->out, "\n\n");
		return true;
	}
	w->out.n = 0;
	if (!s->ending.n || w->ending_tick == s->ending_tick)
		return false;
	mw_buf_add(&w->out, s->ending.p, s->ending.n);
	w->ending_tick = s->ending_tick;
	return true;
}

/* Where another watcher can go on; 0 is no tick: from nothing. */
static void tell_next(struct mw_stream *s, struct mw_watcher *w)
{
	mw_buf_str(&w->out, "event: next\ndata: {\"since\":\"");
	mw_buf_str(&w->out, s->start);
	mw_buf_str(&w->out, ":");
	mw_buf_u64(&w->out, w->journal_n && w->journal_n == s->journal_n ? w->cursor.got : 0);
	mw_buf_str(&w->out, "\"}\n\n");
	w->told = true;
}

static void refill(struct mw_stream *s, struct mw_watcher *w, uint64_t now)
{
	if (w->out.cap > MW_EVENT_BYTES / 4)
		mw_buf_free(&w->out);
	w->out.n = w->sent = 0;
	if (w->told) {
		w->ended = true;
		return;
	}
	begin_change(s);
	if (!news(s, w)) {
		if (w->polls)
			tell_next(s, w);
		else if (now >= mw_watcher_due(w))
			mw_buf_str(&w->out, ":\n\n");
	}
	done(s);
	if (w->out.failed) { /* half an event would be invalid */
		mw_buf_free(&w->out);
		w->ended = true;
	}
	if (w->out.n)
		w->spoke = now;
}

enum mw_next mw_watcher_next(struct mw_stream *s, struct mw_watcher *w, uint64_t now, const char **p,
			     size_t *n)
{
	if (!w->ended && w->sent == w->out.n)
		refill(s, w, now);
	if (w->ended)
		return MW_NEXT_END;
	*p = w->out.p + w->sent;
	*n = w->out.n - w->sent;
	return *n ? MW_NEXT_BYTES : MW_NEXT_LATER;
}

void mw_watcher_took(struct mw_watcher *w, size_t n, uint64_t now)
{
	size_t left = w->out.n - w->sent;

	w->sent += n < left ? n : left;
	w->took = now;
}

uint64_t mw_watcher_due(const struct mw_watcher *w)
{
	return w->spoke + MW_SILENCE_MS;
}

bool mw_watcher_stalled(const struct mw_watcher *w, uint64_t now)
{
	uint64_t from = w->spoke > w->took ? w->spoke : w->took;

	return w->sent < w->out.n && now > from + MW_STALL_MS;
}

/* A watcher from before the last mw_stream_start() counts no longer. */
static void uncount(struct mw_stream *s, struct mw_watcher *w)
{
	uint64_t n = atomic_load_explicit(&s->watching, memory_order_relaxed);

	if (!w->begun)
		return;
	while (n >> 32 == w->begun &&
	       !atomic_compare_exchange_weak_explicit(&s->watching, &n, n - 1, memory_order_relaxed,
						      memory_order_relaxed))
		;
	w->begun = 0;
}

void mw_watcher_end(struct mw_stream *s, struct mw_watcher *w)
{
	w->ended = true;
	uncount(s, w);
}

void mw_watcher_free(struct mw_stream *s, struct mw_watcher *w)
{
	uncount(s, w);
	mw_cursor_free(&w->cursor);
	mw_buf_free(&w->out);
	*w = (struct mw_watcher){ 0 };
}
