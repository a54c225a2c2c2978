/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack_live.c - for lib/mwrap/rack/live.rb: the ticks for watchers, a watcher's new events, and a
 * thread that is quiet from its start.
 *
 * A watcher here is a cursor (../report/journal.h); the site doesn't point to it. Its journal
 * begins with a first tick and ends with the last watcher. A cursor of an earlier journal gets the
 * whole table again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "rack.h"

#define TICK_MS 1000u
#define TICK_MS_MAX 60000u
#define TICK_SHARE 200u /* a tick's CPU time is at most 1/TICK_SHARE of the interval */

/* The present journal: its first tick and its number. Under the site's lock. */
static struct {
	uint32_t first;
	unsigned turn;
} journal;

struct watcher {
	struct mw_cursor cursor;
	uint32_t point_tick;
	unsigned turn; /* journal.turn of the cursor; 0: none yet */
	char start[sizeof(((struct mw_site *)0)->start)];
};

/* --- ticks --------------------------------------------------------------------------- */

/* Returns how many ms later the next one is due. */
static uint64_t tick(struct mw_site *site)
{
	bool had_some = site->journal.snapshot != NULL;
	uint64_t from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID), ms;

	(void)mw_site_tick(site, mw_tracker); /* no memory: the next tick may have some */
	ms = (mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) * TICK_SHARE / 1000000;
	if (!had_some && site->journal.snapshot) {
		journal.first = site->journal.tick;
		journal.turn++;
	}
	/* the first tick names and sorts everything; later ones only compare */
	if (!had_some || ms < TICK_MS)
		return TICK_MS;
	return ms < TICK_MS_MAX ? ms : TICK_MS_MAX;
}

static void *tick_work(void *p)
{
	struct mw_site *site;

	mw_tracker->quiet_enter();
	site = mw_site_take();
	*(uint64_t *)p = tick(site);
	mw_site_give();
	mw_tracker->quiet_leave();
	return NULL;
}

/* :nodoc: ticks now -> Float, seconds until the next tick is due */
static VALUE pages_tick(VALUE mod)
{
	uint64_t ms = TICK_MS;

	mw_without_gvl(tick_work, &ms);
	return DBL2NUM((double)ms / 1000);
}

static void *unwatched_work(void *unused)
{
	(void)unused;
	mw_tracker->quiet_enter();
	mw_site_unwatched(mw_site_take(), mw_tracker);
	mw_site_give();
	mw_tracker->quiet_leave();
	return NULL;
}

/* :nodoc: the last watcher has gone */
static VALUE pages_unwatched(VALUE mod)
{
	mw_without_gvl(unwatched_work, NULL);
	return Qnil;
}

/* --- a watcher --------------------------------------------------------------------------- */

static void watcher_free(void *p)
{
	struct watcher *w = p;

	mw_tracker->quiet_enter();
	mw_cursor_free(&w->cursor);
	mw_tracker->quiet_leave();
	ruby_xfree(w);
}

static size_t watcher_size(const void *p)
{
	return sizeof(struct watcher) + ((const struct watcher *)p)->cursor.order_n * sizeof(uint32_t);
}

static const rb_data_type_t watcher_type = {
	.wrap_struct_name = "mwrap_watcher",
	.function = { .dfree = watcher_free, .dsize = watcher_size },
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE watcher_new(VALUE class)
{
	struct watcher *w;

	return TypedData_Make_Struct(class, struct watcher, &watcher_type, w);
}

struct next {
	struct watcher *w;
	struct mw_buf event;
	const char *since; /* "START:TICK", or NULL; for resume */
	bool resumed;
};

/* Makes an event of the present journal; a cursor of an earlier one starts from nothing. */
static void *next_work(void *p)
{
	struct next *n = p;
	struct watcher *w = n->w;
	struct mw_site *site;

	mw_tracker->quiet_enter();
	site = mw_site_take();
	if (!site->journal.snapshot)
		tick(site);
	if (w->turn != journal.turn) {
		mw_cursor_free(&w->cursor);
		w->point_tick = 0;
		w->turn = journal.turn;
	}
	memcpy(w->start, site->start, sizeof(w->start));
	if (!mw_site_next(site, &w->cursor, &w->point_tick, &n->event))
		n->event.n = 0;
	mw_site_give();
	mw_tracker->quiet_leave();
	return NULL;
}

static VALUE event_string(VALUE arg)
{
	const struct mw_buf *b = (const struct mw_buf *)arg;

	return rb_enc_str_new(b->p, (long)b->n, rb_utf8_encoding());
}

static VALUE event_free(VALUE arg)
{
	mw_tracker->quiet_enter();
	mw_buf_free((struct mw_buf *)arg);
	mw_tracker->quiet_leave();
	return Qnil;
}

VALUE mw_watcher_next(VALUE self)
{
	struct next n = { .w = rb_check_typeddata(self, &watcher_type) };
	VALUE s = Qnil;
	bool failed;

	mw_without_gvl(next_work, &n);
	failed = n.event.failed; /* half an event would be invalid */
	if (n.event.n && !failed)
		s = rb_ensure(event_string, (VALUE)&n.event, event_free, (VALUE)&n.event);
	else
		event_free((VALUE)&n.event);
	if (failed)
		mw_no_memory();
	RB_GC_GUARD(self);
	return s;
}

static void *resume_work(void *p)
{
	struct next *n = p;
	struct watcher *w = n->w;
	struct mw_site *site;
	const char *end;
	unsigned long tick;

	mw_tracker->quiet_enter();
	site = mw_site_take();
	end = strrchr(n->since, ':');
	tick = end ? strtoul(end + 1, NULL, 10) : 0;
	if (end && (size_t)(end - n->since) == strlen(site->start) &&
	    !memcmp(n->since, site->start, strlen(site->start)) && site->journal.snapshot &&
	    tick >= journal.first && tick <= site->journal.tick) {
		w->cursor.got = w->point_tick = (uint32_t)tick;
		w->turn = journal.turn;
		n->resumed = true;
	}
	mw_site_give();
	mw_tracker->quiet_leave();
	return NULL;
}

/*
 * :nodoc: resume("START:TICK") -> bool: goes on from an earlier watcher's place, if the changes
 * since then are still known. Call before the first next.
 */
static VALUE watcher_resume(VALUE self, VALUE since)
{
	struct next n = { .w = rb_check_typeddata(self, &watcher_type), .since = StringValueCStr(since) };

	mw_without_gvl(resume_work, &n);
	RB_GC_GUARD(self);
	RB_GC_GUARD(since);
	return n.resumed ? Qtrue : Qfalse;
}

VALUE mw_watcher_end(VALUE self)
{
	const struct watcher *w = rb_check_typeddata(self, &watcher_type);
	VALUE s = rb_sprintf("event: next\ndata: {\"since\":\"%s:%u\"}\n\n", w->start, w->cursor.got);

	RB_GC_GUARD(self);
	return s;
}

/* --- a quiet thread ------------------------------------------------------------------------ */

static VALUE run(VALUE recv)
{
	return rb_funcall(recv, rb_intern("run"), 0);
}

static VALUE quiet_thread(void *recv)
{
	return mw_quietly(run, (VALUE)recv);
}

/* :nodoc: makes a Thread that calls recv.run, all of it quiet; recv must be a module */
static VALUE pages_thread(VALUE mod, VALUE recv)
{
	Check_Type(recv, T_MODULE);
	return rb_thread_create(quiet_thread, (void *)recv);
}

void mw_init_rack_live(VALUE pages)
{
	VALUE watcher = rb_define_class_under(pages, "Watcher", rb_cObject);

	rb_define_alloc_func(watcher, watcher_new);
	rb_define_method(watcher, "next", mw_watcher_next, 0);
	rb_define_method(watcher, "resume", watcher_resume, 1);
	rb_define_singleton_method(pages, "tick", pages_tick, 0);
	rb_define_singleton_method(pages, "unwatched", pages_unwatched, 0);
	rb_define_singleton_method(pages, "thread", pages_thread, 1);
}
