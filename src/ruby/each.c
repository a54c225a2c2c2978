/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * each.c - Mwrap.each.
 *
 * Works on a copy: the block may do anything, nested calls and fork
 * included, and sees every location as it was when the call began.
 */
#include "ext.h"

struct each {
	VALUE owner;
	struct mw_hold *hold;
	uint64_t min;
};

static VALUE each_rows(VALUE arg)
{
	struct each *e = (struct each *)arg;
	size_t i;

	mw_hold_read(e->hold, e->min, false);
	/* n is read anew: a continuation may come back after the release */
	for (i = 0; i < e->hold->result.n; i++) {
		const struct mw_row *row = &e->hold->result.rows[i];
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

static VALUE each_done(VALUE arg)
{
	struct each *e = (struct each *)arg;

	mw_hold_release(e->hold);
	RB_GC_GUARD(e->owner);
	return Qnil;
}

static VALUE count_rows(VALUE arg)
{
	struct each *e = (struct each *)arg;

	mw_hold_read(e->hold, e->min, false);
	return ULL2NUM(e->hold->result.n);
}

static uint64_t min_of(int argc, const VALUE *argv)
{
	rb_check_arity(argc, 0, 1);
	return mw_min_arg(argc ? argv[0] : Qnil);
}

static VALUE with_hold(VALUE (*work)(VALUE), uint64_t min)
{
	struct each e = { .min = min };

	e.owner = mw_hold_new(&e.hold);
	return rb_ensure(work, (VALUE)&e, each_done, (VALUE)&e);
}

/* Enumerator#size */
static VALUE each_size(VALUE mod, VALUE args, VALUE enumerator)
{
	long n = RTEST(args) ? RARRAY_LEN(args) : 0; /* false: no arguments */
	VALUE min = n ? rb_ary_entry(args, 0) : Qnil;

	return with_hold(count_rows, mw_min_arg(min));
}

/*
 * call-seq:
 *   Mwrap.each(min = 0) { |location, total, allocations, frees, age_total, max_lifespan| ... } -> Mwrap
 *   Mwrap.each(min = 0) -> Enumerator
 *
 * Yields every location of which either the bytes allocated since the last
 * reset or the bytes live now are more than +min+, the largest total first:
 *
 * location::     frozen String, <tt>"/path/to/file.rb:12"</tt>, or
 *                <tt>"/usr/lib/libfoo.so(function+0x1f) [0x7f...]"</tt>;
 *                UTF-8 if it is valid as that, else binary
 * total::        bytes allocated
 * allocations::  calls that allocated
 * frees::        calls that freed what was allocated here
 * age_total::    sum of the lifespans of the freed, in GC generations
 * max_lifespan:: the longest of them, in GC generations
 *
 * All are Integers of 0 to 2**64 - 1 and count since the last Mwrap.reset,
 * or the start of the process. They are a copy, made when the call begins
 * while other threads may run: the block may do anything, nested calls,
 * +break+ and +fork+ included. Without the tracker nothing is yielded.
 *
 * Raises TypeError or RangeError for a +min+ that isn't a number from 0 to
 * 2**64 - 1, and NoMemoryError.
 */
static VALUE mwrap_each(int argc, VALUE *argv, VALUE mod)
{
	RETURN_SIZED_ENUMERATOR(mod, argc, argv, each_size);
	with_hold(each_rows, min_of(argc, argv));
	return mod;
}

void mw_init_each(void)
{
	VALUE mod = rb_define_module("Mwrap");

	rb_define_singleton_method(mod, "each", mwrap_each, -1);
}
