/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quiet.c - Mwrap.quiet.
 *
 * To the tracker, quiet is a state of the native thread, and a thread left
 * in it would be lost to the counts for good. So enter and leave must be
 * calls of the same native thread, whatever the block does. Since Ruby 3.3
 * some Ruby threads ("M:N") change native threads while they wait; those
 * are bound to the one they are on, and where Ruby offers no way to do so
 * they aren't made quiet at all: counting too much is the lesser evil.
 */
#include <stdlib.h>

#include "ext.h"

#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <ruby/version.h>

#if RUBY_API_VERSION_CODE >= 30400
static void init_binding(void)
{
}

bool mw_keeps_native_thread(void)
{
	rb_thread_lock_native_thread();
	return true;
}
#elif RUBY_API_VERSION_CODE >= 30300
static rb_ractor_local_key_t in_main_ractor;
static bool all_mn; /* of the main Ractor, all threads but the main one */

static void init_binding(void)
{
	const char *mn = getenv("RUBY_MN_THREADS");

	all_mn = mn && atoi(mn) > 0;
	/* an extension is loaded in the main Ractor */
	in_main_ractor = rb_ractor_local_storage_value_newkey();
	rb_ractor_local_storage_value_set(in_main_ractor, Qtrue);
}

bool mw_keeps_native_thread(void)
{
	VALUE yes;

	return rb_ractor_local_storage_value_lookup(in_main_ractor, &yes) &&
	       (!all_mn || rb_thread_current() == rb_thread_main());
}
#else
static void init_binding(void)
{
}

bool mw_keeps_native_thread(void)
{
	return true;
}
#endif

static VALUE leave(VALUE ignored)
{
	mw_tracker->quiet_leave();
	return Qnil;
}

VALUE mw_quietly(VALUE (*work)(VALUE), VALUE arg)
{
	if (!mw_keeps_native_thread())
		return work(arg);
	mw_tracker->quiet_enter();
	return rb_ensure(work, arg, leave, Qnil);
}

struct depth {
	unsigned n;
};

static VALUE enter_again(VALUE arg)
{
	const struct depth *d = (const struct depth *)arg;

	for (unsigned i = 0; i < d->n; i++)
		mw_tracker->quiet_enter();
	return Qnil;
}

VALUE mw_loudly(VALUE (*work)(VALUE), VALUE arg)
{
	struct depth d = { .n = mw_tracker->quiet_enter() - 1 };

	for (unsigned i = 0; i <= d.n; i++)
		mw_tracker->quiet_leave();
	return rb_ensure(work, arg, enter_again, (VALUE)&d);
}

/* The depth of a thread that isn't made quiet: yielded, but of no effect. */
static ID id_depth;

static VALUE leave_unbound(VALUE depth)
{
	rb_thread_local_aset(rb_thread_current(), id_depth, UINT2NUM(NUM2UINT(depth) - 1));
	return Qnil;
}

static VALUE quiet_unbound(void)
{
	VALUE outer = rb_thread_local_aref(rb_thread_current(), id_depth);
	VALUE depth = UINT2NUM(NIL_P(outer) ? 1 : NUM2UINT(outer) + 1);

	rb_thread_local_aset(rb_thread_current(), id_depth, depth);
	return rb_ensure(rb_yield, depth, leave_unbound, depth);
}

/*
 * call-seq:
 *   Mwrap.quiet { |depth| ... } -> the block's value
 *
 * Tracks nothing that this thread allocates in the block, such as a report on
 * the table itself. What was tracked and is freed in it is still counted as
 * freed. +depth+ is 1, or more where such blocks are nested; it ends with the
 * block, however that is left.
 *
 * It belongs to the native thread: other threads are tracked as ever, and a
 * Fiber that is resumed from within is quiet too. A Fiber that is left from
 * within such a block leaves the thread quiet until it comes back and ends the
 * block; so don't yield from a Fiber, or wait under a Fiber scheduler, in it.
 *
 * A thread that could change native threads (in Ractors other than the main
 * one, or with RUBY_MN_THREADS=1) keeps its own from then on, from Ruby 3.4 on;
 * in Ruby 3.3 the block has no effect in such a thread.
 *
 * Raises LocalJumpError without a block.
 */
static VALUE mwrap_quiet(VALUE mod)
{
	unsigned depth;

	rb_need_block();
	if (!mw_keeps_native_thread())
		return quiet_unbound();
	depth = mw_tracker->quiet_enter();
	return rb_ensure(rb_yield, UINT2NUM(depth), leave, Qnil);
}

void mw_init_quiet(void)
{
	VALUE mod = rb_define_module("Mwrap");

	id_depth = rb_intern("__mwrap_quiet_depth");
	init_binding();
	rb_define_singleton_method(mod, "quiet", mwrap_quiet, 0);
}
