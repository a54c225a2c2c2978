/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack_live.c - the site's stream (server/history/stream.h) for lib/mwrap/rack/live.rb, and a thread
 * that is quiet from its start.
 *
 * A Watcher is used by one Ruby thread at a time. Another one may end it, under the site's lock. The
 * GC frees it: then no thread uses it. It is of one stream, and ends if the process gets another
 * site: in a forked child, and after the end of a server.
 */
#include "shared/sys/clock.h"
#include "shared/sys/times.h"
#include "rack.h"

#define BYTES_MAX ((size_t)64 << 10) /* in one String */

/* NULL: not in time */
static struct mw_site *take_site(unsigned ms)
{
	mw_tracker->quiet_enter();
	return mw_site_take(ms);
}

static void *give(struct mw_site *site)
{
	mw_site_give(site);
	mw_tracker->quiet_leave();
	return NULL;
}

/* --- the stream ---------------------------------------------------------------------- */

static void *tick_work(void *p)
{
	struct mw_site *site = take_site(MW_SITE_MS);
	uint64_t now = mw_now_ms(), due;

	*(double *)p = 1;
	if (site) {
		(void)mw_offers->stream_run(&site->stream, now);
		now = mw_now_ms();
		due = mw_offers->stream_due(&site->stream, now);
		*(double *)p = due == UINT64_MAX || due < now ? 0 : (double)(due - now) / 1000;
	}
	return give(site);
}

/* :nodoc: ticks if that is due -> Float, seconds until the next tick is */
static VALUE pages_tick(VALUE mod)
{
	double seconds = 0;

	mw_offers_need();
	mw_without_gvl(tick_work, &seconds);
	return DBL2NUM(seconds);
}

static void *idle_work(void *p)
{
	/* others may wait for the caller, which asks again: don't wait */
	struct mw_site *site = take_site(0);

	*(bool *)p = site && mw_offers->stream_idle(&site->stream, mw_now_ms());
	return give(site);
}

/* :nodoc: true if nobody watches */
static VALUE pages_idle_p(VALUE mod)
{
	bool idle = false;

	mw_offers_need();
	mw_without_gvl(idle_work, &idle);
	return idle ? Qtrue : Qfalse;
}

/* --- a watcher --------------------------------------------------------------------------- */

struct watcher {
	struct mw_watcher w;
	struct mw_stream *stream; /* in static memory; NULL: it watches nothing yet */
};

/* It watches another stream from now on, or none. */
static void watch_stream(struct watcher *w, struct mw_stream *stream)
{
	if (w->stream)
		mw_offers->watcher_free(w->stream, &w->w);
	w->stream = stream;
}

static void watcher_free(void *p)
{
	mw_tracker->quiet_enter();
	watch_stream(p, NULL);
	mw_tracker->quiet_leave();
	ruby_xfree(p);
}

static size_t watcher_size(const void *p)
{
	const struct mw_watcher *w = &((const struct watcher *)p)->w;

	return sizeof(struct watcher) + w->cursor.order_n * sizeof(*w->cursor.order) + w->out.cap;
}

static const rb_data_type_t watcher_type = {
	.wrap_struct_name = "mwrap_watcher",
	.function = { .dfree = watcher_free, .dsize = watcher_size },
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE watcher_new(VALUE class)
{
	struct watcher *w;

	mw_offers_need();
	return TypedData_Make_Struct(class, struct watcher, &watcher_type, w);
}

struct call {
	struct watcher *w;
	const char *text; /* the first bytes, or the place to go on from */
	size_t n;
	bool yes;
	enum mw_next next;
	const char *p; /* its next bytes, `n` of them */
};

static void *join_work(void *p)
{
	struct call *c = p;
	struct mw_site *site = take_site(MW_SITE_MS);
	struct mw_buf first = { 0 };

	watch_stream(c->w, site ? &site->stream : NULL);
	mw_buf_add(&first, c->text, c->n);
	c->yes = site && !first.failed &&
		 mw_offers->watcher_join(&site->stream, &c->w->w, &first, MW_WATCHERS_MAX, mw_now_ms());
	mw_buf_free(&first);
	return give(site);
}

/* :nodoc: join(String) -> bool: watches, and begins with that; false: too many do */
static VALUE watcher_join(VALUE self, VALUE first)
{
	struct call c = { .w = rb_check_typeddata(self, &watcher_type) };

	StringValue(first);
	c.text = RSTRING_PTR(first);
	c.n = (size_t)RSTRING_LEN(first);
	mw_without_gvl(join_work, &c);
	RB_GC_GUARD(self);
	RB_GC_GUARD(first);
	return c.yes ? Qtrue : Qfalse;
}

static void *poll_work(void *p)
{
	struct call *c = p;
	struct mw_site *site = take_site(MW_SITE_MS);

	watch_stream(c->w, site ? &site->stream : NULL);
	c->yes = site && mw_offers->watcher_poll(&site->stream, &c->w->w, c->text, mw_now_ms());
	return give(site);
}

/* :nodoc: poll("START:TICK" or nil) -> bool: polls; true: goes on from there */
static VALUE watcher_poll(VALUE self, VALUE since)
{
	struct call c = { .w = rb_check_typeddata(self, &watcher_type) };

	c.text = NIL_P(since) ? NULL : StringValueCStr(since);
	mw_without_gvl(poll_work, &c);
	RB_GC_GUARD(self);
	RB_GC_GUARD(since);
	return c.yes ? Qtrue : Qfalse;
}

static void *next_work(void *p)
{
	struct call *c = p;
	struct mw_site *site = take_site(MW_SITE_MS);

	if (!site)
		c->next = MW_NEXT_LATER;
	else if (&site->stream != c->w->stream)
		c->next = MW_NEXT_END;
	else
		c->next = mw_offers->watcher_next(c->w->stream, &c->w->w, mw_now_ms(), &c->p, &c->n);
	return give(site);
}

/* :nodoc: bytes -> String that it gets next; nil: nothing now; false: the end */
static VALUE watcher_bytes(VALUE self)
{
	struct call c = { .w = rb_check_typeddata(self, &watcher_type) };
	VALUE s = Qnil;

	mw_without_gvl(next_work, &c);
	if (c.next == MW_NEXT_BYTES)
		s = rb_str_new(c.p, (long)(c.n < BYTES_MAX ? c.n : BYTES_MAX));
	else if (c.next == MW_NEXT_END)
		s = Qfalse;
	RB_GC_GUARD(self);
	return s;
}

/* :nodoc: took(Integer): so many of these bytes were written */
static VALUE watcher_took(VALUE self, VALUE n)
{
	struct watcher *w = rb_check_typeddata(self, &watcher_type);

	mw_offers->watcher_took(&w->w, NUM2SIZET(n), mw_now_ms());
	RB_GC_GUARD(self);
	return Qnil;
}

/* :nodoc: true if it takes nothing of what waits for it, for too long */
static VALUE watcher_stalled_p(VALUE self)
{
	const struct watcher *w = rb_check_typeddata(self, &watcher_type);
	bool stalled = mw_offers->watcher_stalled(&w->w, mw_now_ms());

	RB_GC_GUARD(self);
	return stalled ? Qtrue : Qfalse;
}

static void *end_work(void *p)
{
	struct watcher *w = p;
	struct mw_site *site = take_site(MW_SITE_MS);

	/* else the GC gives its place back */
	if (site && &site->stream == w->stream)
		mw_offers->watcher_end(w->stream, &w->w);
	return give(site);
}

/* :nodoc: end: any thread; there is a place for another one */
static VALUE watcher_end(VALUE self)
{
	mw_without_gvl(end_work, rb_check_typeddata(self, &watcher_type));
	RB_GC_GUARD(self);
	return Qnil;
}

VALUE mw_watcher_take(VALUE self)
{
	VALUE s = watcher_bytes(self);

	if (RTEST(s))
		mw_offers->watcher_took(&((struct watcher *)rb_check_typeddata(self, &watcher_type))->w,
					(size_t)RSTRING_LEN(s), mw_now_ms());
	return s;
}

/* --- a quiet thread ------------------------------------------------------------------------ */

static VALUE call_run(VALUE recv)
{
	return rb_funcall(recv, rb_intern("run"), 0);
}

static VALUE quiet_thread(void *recv)
{
	return mw_quietly(call_run, (VALUE)recv);
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
	rb_define_method(watcher, "join", watcher_join, 1);
	rb_define_method(watcher, "poll", watcher_poll, 1);
	rb_define_method(watcher, "bytes", watcher_bytes, 0);
	rb_define_method(watcher, "took", watcher_took, 1);
	rb_define_method(watcher, "stalled?", watcher_stalled_p, 0);
	rb_define_method(watcher, "end", watcher_end, 0);
	rb_define_singleton_method(pages, "tick", pages_tick, 0);
	rb_define_singleton_method(pages, "idle?", pages_idle_p, 0);
	rb_define_singleton_method(pages, "thread", pages_thread, 1);
}
