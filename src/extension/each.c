/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * each.c - Mwrap.each.
 *
 * Works on a copy: the block may do anything, nested calls and fork
 * included, and sees every location as it was when the call began.
 */
#include "ext.h"

static VALUE each_rows(struct mw_result_owner *hold, void *min)
{
	size_t i;

	mw_result_owner_read(hold, *(const uint64_t *)min, false);
	/* n is read anew: a continuation may come back after the release */
	for (i = 0; i < hold->result.n; i++) {
		const struct mw_row *row = &hold->result.rows[i];
		VALUE v[6] = {
			mw_location_string(row->location, row->location_len),
			ULL2NUM(row->total),
			ULL2NUM(row->allocations),
			ULL2NUM(row->frees),
			ULL2NUM(row->life_sum),
			ULL2NUM(row->life_max),
		};

		rb_yield_values2(6, v);
	}
	return Qnil;
}

static VALUE count_rows(struct mw_result_owner *hold, void *min)
{
	mw_result_owner_read(hold, *(const uint64_t *)min, false);
	return ULL2NUM(hold->result.n);
}

/* Enumerator#size */
static VALUE each_size(VALUE mod, VALUE args, VALUE enumerator)
{
	long n = RTEST(args) ? RARRAY_LEN(args) : 0; /* false: no arguments */
	uint64_t min = mw_min_arg(n ? rb_ary_entry(args, 0) : Qnil);

	return mw_with_result_owner(count_rows, &min);
}

/*
 * call-seq:
 *   Mwrap.each(min = 0) { |location, total, allocations, frees, age_total, max_lifespan| ... } -> Mwrap
 *   Mwrap.each(min = 0) -> Enumerator
 *
 * Yields locations, the largest total first: those whose bytes allocated since the last reset, bytes
 * live now, or slots of Ruby objects that stay, are more than +min+.
 *
 * location::     frozen String, <tt>"/path/to/file.rb:12"</tt>, or
 *                <tt>"/usr/lib/libfoo.so(function+0x1f) [0x7f...]"</tt>;
 *                UTF-8 if it is valid as that, else binary
 * total::        bytes allocated
 * allocations::  calls that allocated
 * frees::        calls that freed what was allocated here
 * age_total::    sum of the lifespans of freed blocks, in GC generations
 * max_lifespan:: the longest of these lifespans, in GC generations
 *
 * The block's allocations aren't tracked, as in Mwrap.quiet. Those that it leaves to other Fibers and
 * threads are tracked. (So is everything in a frozen Thread, and on Ruby 3.3 in a Ractor other than
 * the main one, and in other threads than the main one with RUBY_MN_THREADS.) The block's frees are counted.
 *
 * The numbers are Integers from 0 to 2**64 - 1. They count since the last Mwrap.reset, or the start
 * of the process. They are a copy, made when the call begins, while other threads may run. So the
 * block may do anything: nested calls, +break+ and +fork+ included. Without the tracker nothing is
 * yielded.
 *
 * Raises TypeError or RangeError for a +min+ that isn't a number from 0 to 2**64 - 1, and
 * NoMemoryError.
 */
static VALUE mwrap_each(int argc, VALUE *argv, VALUE mod)
{
	uint64_t min;

	RETURN_SIZED_ENUMERATOR(mod, argc, argv, each_size);
	rb_check_arity(argc, 0, 1);
	min = mw_min_arg(argc ? argv[0] : Qnil);
	mw_with_result_owner_hushed(each_rows, &min);
	return mod;
}

void mw_init_each(void)
{
	VALUE mod = rb_define_module("Mwrap");

	rb_define_singleton_method(mod, "each", mwrap_each, -1);
}
