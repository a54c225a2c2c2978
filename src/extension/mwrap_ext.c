/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mwrap_ext.c - finds the tracker; has the methods of Mwrap that are one call of it. lib/mwrap.rb
 * loads it; it exports Init_mwrap_ext alone.
 *
 * It must load, and cost nothing, in a process without the tracker. It uses only Ruby's public C
 * API; so do all files but heap_walk.c.
 */
#include <dlfcn.h>

#include "ext.h"

static void find_tracker(void)
{
	const struct mw_api *api = dlsym(RTLD_DEFAULT, "mwrap_api");

	if (api && api->version == MW_API_VERSION)
		mw_tracker_is(api);
	else if (api)
		rb_funcall(rb_mKernel, rb_intern("warn"), 1,
			   rb_sprintf("mwrap: the preloaded tracker is of another version "
				      "(its interface is %u, not %u): not used",
				      api->version, MW_API_VERSION));
}

/*
 * True if the tracker is in this process: mwrap(1) started the process, LD_PRELOAD had libmwrap.so of
 * this version, or Mwrap.start was called. It stays true after Mwrap.stop.
 */
static VALUE mwrap_tracking_p(VALUE mod)
{
	return mw_tracker == &mw_no_tracker ? Qfalse : Qtrue;
}

/*
 * call-seq:
 *   Mwrap.reset -> nil
 *   Mwrap.clear -> nil
 *
 * Starts every counter again from zero, the two totals included. Live blocks stay known. Calls of
 * other threads at this moment count before or after it.
 */
static VALUE mwrap_reset(VALUE mod)
{
	mw_counters_reset();
	return Qnil;
}

/*
 * call-seq: Mwrap.pause -> nil
 *
 * Turns tracking off for the whole process, until Mwrap.resume or a POST of /resume. Blocks
 * allocated meanwhile, also by a realloc, are never counted. Blocks that are live stay known, and
 * their frees are counted. Calls of other threads at this moment count before or after it. A forked
 * child inherits it.
 *
 * Mwrap.quiet does the same for one thread.
 */
static VALUE mwrap_pause(VALUE mod)
{
	mw_tracker->pause(true);
	return Qnil;
}

/*
 * call-seq: Mwrap.resume -> nil
 *
 * Turns tracking on again.
 */
static VALUE mwrap_resume(VALUE mod)
{
	mw_tracker->pause(false);
	return Qnil;
}

/*
 * Whether tracking is off, by Mwrap.pause or a POST of /pause. False without
 * the tracker.
 */
static VALUE mwrap_paused_p(VALUE mod)
{
	return mw_tracker->paused() ? Qtrue : Qfalse;
}

/*
 * call-seq: Mwrap.exact! -> nil
 *
 * Counts every block from now on, in a process that samples allocations (the option +counts+). Live
 * memory stays in the table as an estimate. Does nothing if every block is counted already, or without the tracker.
 */
static VALUE mwrap_exact(VALUE mod)
{
	(void)mw_tracker->count(true, 0);
	return Qnil;
}

/*
 * call-seq: Mwrap.sampled!(rate = nil) -> true or false
 *
 * Samples allocations from now on: one block for +rate+ bytes on average stands for all. All figures are
 * estimates then. Without a +rate+ it is that of the option +stacks+. False if a recording is running, if a thread
 * doesn't leave the tracker, or without the tracker; then nothing is changed.
 *
 * Raises TypeError if +rate+ isn't a number, and RangeError if it is less than 1.
 */
static VALUE mwrap_sampled(int argc, VALUE *argv, VALUE mod)
{
	long rate = 0;

	rb_check_arity(argc, 0, 1);
	if (argc && !NIL_P(argv[0])) {
		rate = NUM2LONG(argv[0]);
		if (rate < 1)
			rb_raise(rb_eRangeError, "rate: %ld is less than 1", rate);
	}
	return mw_tracker->count(false, (uint64_t)rate) ? Qtrue : Qfalse;
}

/*
 * Whether allocations are sampled, so that the table's figures are estimates. False without the tracker.
 */
static VALUE mwrap_sampled_p(VALUE mod)
{
	struct mw_stats stats;

	mw_stats_read(&stats);
	return stats.sampled ? Qtrue : Qfalse;
}

/*
 * The number of Ruby callers that are kept with each location: the option +bt+, or what Mwrap.bt= or a
 * POST of /ctl made of it. 0 without the tracker.
 */
static VALUE mwrap_bt(VALUE mod)
{
	struct mw_stats stats;

	mw_stats_read(&stats);
	return UINT2NUM(stats.bt);
}

/*
 * call-seq: Mwrap.bt = callers
 *
 * Keeps up to so many Ruby callers with each location from now on: an Integer from 0 to 16. Locations
 * are then named <tt>"a.rb:1 < b.rb:7"</tt>, and each chain of callers is counted exactly. Blocks that
 * are live keep their location. A forked child inherits it.
 *
 * Raises TypeError if +callers+ isn't a number, and RangeError outside 0..16.
 */
static VALUE mwrap_set_bt(VALUE mod, VALUE callers)
{
	int n = NUM2INT(callers);

	if (n < 0 || n > (int)MW_CALLERS_MOST)
		rb_raise(rb_eRangeError, "bt: %d is not from 0 to %u", n, MW_CALLERS_MOST);
	mw_tracker->set_bt((unsigned)n);
	return callers;
}

/*
 * Bytes allocated since the last reset, or the start of the process: an
 * Integer, 0 without the tracker.
 */
static VALUE mwrap_total_bytes_allocated(VALUE mod)
{
	struct mw_stats stats;

	mw_stats_read(&stats);
	return ULL2NUM(stats.total);
}

/*
 * Bytes freed since the last reset, or the start of the process: an Integer, 0
 * without the tracker. Only what was tracked when it was allocated counts.
 */
static VALUE mwrap_total_bytes_freed(VALUE mod)
{
	struct mw_stats stats;

	mw_stats_read(&stats);
	return ULL2NUM(stats.freed);
}

void Init_mwrap_ext(void);
__attribute__((visibility("default"))) void Init_mwrap_ext(void)
{
	VALUE mod;

	rb_ext_ractor_safe(true);
	find_tracker();

	mod = rb_define_module("Mwrap");
	rb_define_singleton_method(mod, "tracking?", mwrap_tracking_p, 0);
	rb_define_singleton_method(mod, "reset", mwrap_reset, 0);
	rb_define_singleton_method(mod, "clear", mwrap_reset, 0);
	rb_define_singleton_method(mod, "pause", mwrap_pause, 0);
	rb_define_singleton_method(mod, "resume", mwrap_resume, 0);
	rb_define_singleton_method(mod, "paused?", mwrap_paused_p, 0);
	rb_define_singleton_method(mod, "exact!", mwrap_exact, 0);
	rb_define_singleton_method(mod, "sampled!", mwrap_sampled, -1);
	rb_define_singleton_method(mod, "sampled?", mwrap_sampled_p, 0);
	rb_define_singleton_method(mod, "bt", mwrap_bt, 0);
	rb_define_singleton_method(mod, "bt=", mwrap_set_bt, 1);
	rb_define_singleton_method(mod, "total_bytes_allocated", mwrap_total_bytes_allocated, 0);
	rb_define_singleton_method(mod, "total_bytes_freed", mwrap_total_bytes_freed, 0);
	mw_init_quiet();
	mw_init_hush();
	mw_init_label();
	mw_init_each();
	mw_init_live_counts();
	mw_init_dump();
	mw_init_source_location();
	mw_init_check();
	mw_init_stats();
	mw_init_stacks();
	mw_init_start();
	mw_init_holders();
	mw_init_asked();
	mw_init_rack();
	mw_init_heap_page_body();
	mw_init_heap_walk();
	mw_init_heap_counts();
	mw_init_heap_stacks();
	mw_init_heap_find();
	mw_init_heap_ids();
}
