/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quiet.c - Mwrap.quiet.
 *
 * To the tracker, quiet is a state of the native thread. A thread left in it would never be counted
 * again. So enter and leave must be calls of the same native thread, independent of what the block
 * does. Since Ruby 3.3 some Ruby threads ("M:N") change native threads while they wait. These are
 * bound to their present native thread. Where Ruby can't bind them, they aren't made quiet at all:
 * counting too much is the lesser evil.
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
static bool all_mn; /* in the main Ractor, all threads but the main one are M:N */

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

/* The depth of a thread that isn't made quiet: yielded, but without effect. */
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
 * Tracks nothing that this thread allocates in the block, for example a report on the table itself.
 * Frees of tracked blocks are still counted. +depth+ is 1, or more in nested calls. Quiet ends with
 * the block, however that is left.
 *
 * It belongs to the native thread: other threads are tracked as before, and a Fiber resumed from
 * within the block is quiet, too. If a Fiber is left within the block, the thread stays quiet until
 * that Fiber comes back and ends the block. So don't yield from a Fiber, or wait under a Fiber
 * scheduler, in it.
 *
 * Some threads can change native threads: in Ractors other than the main one, or with
 * RUBY_MN_THREADS=1. From Ruby 3.4 on, such a thread keeps its own from then on. In Ruby 3.3 the
 * block has no effect in it.
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
