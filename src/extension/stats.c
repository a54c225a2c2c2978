/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats.c - Mwrap.stats: the process's totals, as a Hash. */
#include "ext.h"

static void set_stat(VALUE hash, const char *name, VALUE value)
{
	rb_hash_aset(hash, ID2SYM(rb_intern(name)), value);
}

/*
 * call-seq: Mwrap.stats -> Hash
 *
 * Returns what the tracker knows of the whole process, at one moment, by Symbol.
 *
 * Sums over all locations: +total+ and +freed+ (bytes), +allocations+ and +frees+ (calls) since the
 * last reset, +live_bytes+ and +live+ (blocks) now.
 * +generation+:: the clock that measures lifespans, in units of
 *                +life_unit+: "gc" or "bytes".
 * +locations+, +locations_max+, +retired+::
 *   locations in the table, its ceiling, and how many were folded into
 *   "(gone)" to make room.
 * +peak_bytes+::
 *   bytes live when they were most since the last reset, as far as the server or the thread of dump_every
 *   looked: once a second or so. nil: nobody looked.
 * +lost+:: live blocks without a record, for want of memory.
 * +overruns+::
 *   blocks found written past their end when they were freed or reallocated.
 * +double_frees+, +unknown_frees+::
 *   frees of no live block: of one freed before, and of one that the tracker
 *   never saw.
 * +wrong_sizes+::
 *   blocks freed with another size than was asked for: C++'s sized operator delete. These four count
 *   since the start; a reset doesn't change them.
 * +paused+:: whether tracking is off: see Mwrap.pause.
 * +counts+, +sample_rate+, +live_samples+, +live_error+::
 *   "exact" or "sampled"; bytes from sample to sample, nil if every block is counted; live blocks that stand
 *   for others; and bytes by which +live_bytes+ may be off for that reason, in 19 of 20 cases.
 * +locations_full+, +records_full+, +threads_full+::
 *   whether memory for any of these ran out, for example at the ceiling
 *   +memory_max+ (bytes, 0: none). A location without room counts under
 *   "(other)", a block without a record is +lost+, and a thread without
 *   memory counts at its native callers.
 * +ruby_lookup+, +ruby_why+::
 *   how Ruby lines are found ("fast", "public", "starting", "ended", "none"),
 *   and, if not the fast way, why.
 * +mode+, +mode_why+::
 *   the fast way of malloc and free: "ruby"; "bytes" in a process without
 *   Ruby; or "none", the slow way, and why.
 * +gc_count+::
 *   how GC.count is read: from "memory" or by a "call". It isn't read while
 *   Ruby is "starting", has "ended", or is not there at all ("none").
 * +ruby_jit+::
 *   where the compiler's own blocks count, YJIT's or ZJIT's: "apart", in the location
 *   "(ruby, JIT compiler)"; at the "lines" it compiled, if Ruby's file has no symbols; or "none", no JIT has begun.
 * +tracker_bytes+:: memory mapped for the tracker's own tables.
 * +uptime+:: seconds since tracking began, a Float.
 * +how+, +since+::
 *   "preload": the process was started with the tracker; "started": by Mwrap.start, or "attached": by
 *   mwrapctl(1), when the process was +since+ seconds old, a Float; "none": there is no tracker.
 * +before_bytes+::
 *   bytes of malloc's blocks that lived when tracking began, which are in no other number: 0 after
 *   "preload"; nil on another allocator than glibc's, and above 1 GiB of RSS.
 * +resets+:: the number of resets.
 * +bt+:: the number of Ruby callers kept with each location: see Mwrap.bt=.
 * +stacks_rate+::
 *   the mean number of bytes from one sample of the stacks to the next; 0: none are taken.
 * +stacks_samples+, +stacks_dropped+::
 *   samples taken since the start, and samples that were lost: two threads
 *   came at once, or there was no room.
 * +stacks_ns+:: the time that threads spent on samples since the start, in nanoseconds.
 *
 * Every number is 0 without the tracker.
 */
static VALUE mwrap_stats(VALUE mod)
{
	struct mw_stats s;
	VALUE h = rb_hash_new();

	mw_stats_read(&s);
	set_stat(h, "total", ULL2NUM(s.total));
	set_stat(h, "allocations", ULL2NUM(s.allocations));
	set_stat(h, "freed", ULL2NUM(s.freed));
	set_stat(h, "frees", ULL2NUM(s.frees));
	set_stat(h, "live_bytes", ULL2NUM(s.live_bytes));
	set_stat(h, "live", ULL2NUM(s.live));
	set_stat(h, "peak_bytes", s.peak_bytes ? ULL2NUM(s.peak_bytes) : Qnil);
	set_stat(h, "locations", ULL2NUM(s.locations));
	set_stat(h, "locations_max", ULL2NUM(s.locations_max));
	set_stat(h, "retired", ULL2NUM(s.retired));
	set_stat(h, "generation", ULL2NUM(s.generation));
	set_stat(h, "life_unit", mw_location_string(s.life_unit, strlen(s.life_unit)));
	set_stat(h, "ruby_lookup", mw_location_string(s.ruby_lookup, strlen(s.ruby_lookup)));
	set_stat(h, "ruby_why", mw_location_string(s.ruby_why, strlen(s.ruby_why)));
	set_stat(h, "mode", mw_location_string(s.mode, strlen(s.mode)));
	set_stat(h, "mode_why", mw_location_string(s.mode_why, strlen(s.mode_why)));
	set_stat(h, "gc_count", mw_location_string(s.gc_count, strlen(s.gc_count)));
	set_stat(h, "ruby_jit", mw_location_string(s.ruby_jit, strlen(s.ruby_jit)));
	set_stat(h, "tracker_bytes", ULL2NUM(s.tracker_bytes));
	set_stat(h, "lost", ULL2NUM(s.lost));
	set_stat(h, "overruns", ULL2NUM(s.overruns));
	set_stat(h, "double_frees", ULL2NUM(s.double_frees));
	set_stat(h, "unknown_frees", ULL2NUM(s.unknown_frees));
	set_stat(h, "wrong_sizes", ULL2NUM(s.wrong_sizes));
	set_stat(h, "memory_max", ULL2NUM(s.memory_max));
	set_stat(h, "locations_full", s.locations_full ? Qtrue : Qfalse);
	set_stat(h, "records_full", s.records_full ? Qtrue : Qfalse);
	set_stat(h, "threads_full", s.threads_full ? Qtrue : Qfalse);
	set_stat(h, "paused", s.paused ? Qtrue : Qfalse);
	set_stat(h, "counts", s.sampled ? rb_str_new_cstr("sampled") : rb_str_new_cstr("exact"));
	set_stat(h, "sample_rate", s.sampled ? ULL2NUM(s.sample_rate) : Qnil);
	set_stat(h, "live_samples", ULL2NUM(s.live_samples));
	set_stat(h, "live_error", ULL2NUM(s.live_error));
	set_stat(h, "uptime", DBL2NUM(s.uptime));
	set_stat(h, "how", mw_location_string(s.how, strlen(s.how)));
	set_stat(h, "since", DBL2NUM(s.since));
	set_stat(h, "before_bytes", s.before_known ? ULL2NUM(s.before_bytes) : Qnil);
	set_stat(h, "resets", ULL2NUM(s.resets));
	set_stat(h, "bt", UINT2NUM(s.bt));
	set_stat(h, "stacks_rate", ULL2NUM(s.stacks_rate));
	set_stat(h, "stacks_samples", ULL2NUM(s.stacks_samples));
	set_stat(h, "stacks_dropped", ULL2NUM(s.stacks_dropped));
	set_stat(h, "stacks_ns", ULL2NUM(s.stacks_ns));
	return h;
}

void mw_init_stats(void)
{
	VALUE mod = rb_define_module("Mwrap");

	rb_define_singleton_method(mod, "stats", mwrap_stats, 0);
}
