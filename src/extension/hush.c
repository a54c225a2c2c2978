/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hush.c - leaves out what the blocks of Mwrap.each and its like allocate: otherwise a measuring
 * script would lead its own table.
 *
 * To the tracker, quiet belongs to a native thread. But a block may leave its thread by switching
 * Fibers: Enumerator#next, Fiber.yield, a Fiber scheduler. So each Fiber counts in a variable how
 * deep it is in these blocks. At each Fiber switch the thread's state is set to that Fiber's count.
 * Ruby reports the switch by an event. If an interrupt overtakes that (Thread#raise), the
 * exception's event reports it. A thread killed at that moment keeps its state to its end.
 *
 * The hook exists while a block does: `blocks` counts them in all Ractors. That includes blocks in
 * a Fiber that never goes on; the GC ends these (result_owner.c). A Ractor that finds none removes
 * its hook. A Ruby thread that may change native threads isn't made quiet: quiet.c.
 */
#include "ext.h"

#include <ruby/debug.h>
#include <ruby/ractor.h>

enum {
	EVENTS = RUBY_EVENT_FIBER_SWITCH | RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END | RUBY_EVENT_RAISE
};

static ID id_depth;       /* the key of a Fiber's depth: nil or an Integer */
static rb_ractor_local_key_t is_hooked; /* per Ractor: nil or true */
static uint32_t blocks; /* relaxed: a Ractor sees its own blocks at once, others' soon enough */

static unsigned depth_of_fiber(void)
{
	VALUE depth = rb_thread_local_aref(rb_thread_current(), id_depth);

	return NIL_P(depth) ? 0 : FIX2UINT(depth);
}

static void set_depth(unsigned depth)
{
	if (depth != depth_of_fiber())
		rb_thread_local_aset(rb_thread_current(), id_depth, depth ? UINT2NUM(depth) : Qnil);
}

static bool hooked(void)
{
	VALUE yes;

	return rb_ractor_local_storage_value_lookup(is_hooked, &yes) && RTEST(yes);
}

static void unhook_after_the_last(void);

static void on_event(rb_event_flag_t event, VALUE unused, VALUE self, ID id, VALUE klass)
{
	/* a thread begins or ends: no block of an ended thread is in the next one */
	mw_tracker->hush(!(event & (RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END)) && depth_of_fiber());
	unhook_after_the_last();
}

static void unhook_after_the_last(void)
{
	if (__atomic_load_n(&blocks, __ATOMIC_RELAXED) || !hooked())
		return;
	rb_ractor_local_storage_value_set(is_hooked, Qfalse);
	rb_remove_event_hook(on_event);
}

static void hook(void)
{
	if (hooked())
		return;
	rb_ractor_local_storage_value_set(is_hooked, Qtrue);
	rb_add_event_hook(on_event, EVENTS, Qnil);
}

struct hushed {
	VALUE owner;
	struct mw_result_owner *hold;
	VALUE (*work)(struct mw_result_owner *, void *arg);
	void *arg;
	unsigned outer;
};

static VALUE works(VALUE arg)
{
	struct hushed *h = (struct hushed *)arg;

	mw_tracker->hush(true);
	h->owner = mw_result_owner_new(&h->hold);
	h->hold->hushed = true;
	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
	hook();
	set_depth(h->outer + 1);
	return h->work(h->hold, h->arg);
}

/* Runs again if a continuation went back into the block: then nothing is left to do. */
static VALUE ends(VALUE arg)
{
	struct hushed *h = (struct hushed *)arg;

	if (h->hold)
		mw_result_owner_release(h->hold);
	set_depth(h->outer);
	unhook_after_the_last();
	mw_tracker->hush(h->outer > 0);
	RB_GC_GUARD(h->owner);
	return Qnil;
}

VALUE mw_with_result_owner_hushed(VALUE (*work)(struct mw_result_owner *, void *arg), void *arg)
{
	struct hushed h = { .work = work, .arg = arg, .outer = depth_of_fiber() };

	/* a frozen thread takes no variables */
	if (OBJ_FROZEN(rb_thread_current()) || !mw_keeps_native_thread())
		return mw_with_result_owner(work, arg);
	return rb_ensure(works, (VALUE)&h, ends, (VALUE)&h);
}

void mw_hush_over(void)
{
	__atomic_fetch_sub(&blocks, 1, __ATOMIC_RELAXED);
}

void mw_init_hush(void)
{
	id_depth = rb_intern("__mwrap_hushed");
	is_hooked = rb_ractor_local_storage_value_newkey();
}
