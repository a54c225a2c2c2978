/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_page_body.c - Mwrap::HeapPageBody: the pages that hold Ruby's objects, how long they last
 * and how often they come back.
 *
 * each works on a copy, as Mwrap.each does: its block may do anything.
 */
#include <math.h>

#include "ext.h"

static VALUE each_page(struct mw_result_owner *hold, void *unused)
{
	size_t i;

	mw_result_owner_heap(hold);
	/* n is read anew: a continuation may come back after the release */
	for (i = 0; i < hold->heap.n; i++) {
		const struct mw_heap_page *page = &hold->heap.heap->v[i];

		rb_yield_values(2, ULL2NUM(page->addr), ULL2NUM(page->generation));
	}
	return SIZET2NUM(i);
}

/* Enumerator#size */
static VALUE each_size(VALUE mod, VALUE args, VALUE enumerator)
{
	struct mw_heap_sums sums;

	mw_tracker->heap_sums(&sums);
	return ULL2NUM(sums.pages);
}

/*
 * call-seq:
 *   Mwrap::HeapPageBody.each { |address, generation| ... } -> Integer
 *   Mwrap::HeapPageBody.each -> Enumerator
 *
 * Yields the address of each live page, and GC.count at its birth, both Integers; the oldest page
 * first. Returns the number of pages, which is GC.stat(:heap_allocated_pages): 0 without the
 * tracker.
 *
 * They are a copy, made when the call begins: the block may do anything, +break+ and +fork+
 * included. Its allocations aren't tracked, as in Mwrap.each. Raises NoMemoryError.
 */
static VALUE heap_each(VALUE mod)
{
	RETURN_SIZED_ENUMERATOR(mod, 0, NULL, each_size);
	return mw_with_result_owner_hushed(each_page, NULL);
}

static void set_statistic(VALUE hash, const char *what, const char *name, VALUE value)
{
	VALUE key = rb_sprintf("%s_%s", what, name);

	rb_hash_aset(hash, rb_to_symbol(key), value);
}

/* Without spans only the deviation is a number: nothing deviates. Zeros without the tracker. */
static void set_spans(VALUE hash, const char *what, const struct mw_spans *s)
{
	bool none = !s->n && mw_tracker != &mw_no_tracker;
	VALUE never = none ? DBL2NUM(HUGE_VAL) : Qundef;

	set_statistic(hash, what, "max", none ? never : ULL2NUM(s->max));
	set_statistic(hash, what, "min", none ? never : ULL2NUM(s->min));
	set_statistic(hash, what, "mean",
		      none ? never : DBL2NUM(s->n ? (double)s->sum / (double)s->n : 0.0));
	set_statistic(hash, what, "stddev", DBL2NUM(s->stddev));
}

/*
 * call-seq:
 *   Mwrap::HeapPageBody.stat -> Hash
 *   Mwrap::HeapPageBody.stat(hash) -> hash
 *
 * Tells how long pages live and stay dead, in runs of the GC, since the start of the process.
 * Mwrap.reset doesn't change it. Fills +hash+, if one is given.
 *
 * +lifespan_max+, +lifespan_min+, +lifespan_mean+, +lifespan_stddev+::
 *   from birth to death, of the pages that died. Pages die when the GC finds
 *   them empty: many short lives mean peaks, long ones fragmentation.
 * +resurrects+:: how often a page was born at the address of a dead one.
 * +deathspan_max+, +deathspan_min+, +deathspan_mean+, +deathspan_stddev+::
 *   from that death to that birth.
 *
 * Maxima, minima and +resurrects+ are Integers, means and standard deviations Floats. If no page
 * died (or none was resurrected), maximum, minimum and mean are Float::INFINITY. Without the
 * tracker all are 0.
 *
 * Raises TypeError if +hash+ isn't a Hash, and FrozenError.
 */
static VALUE heap_stat(int argc, VALUE *argv, VALUE mod)
{
	struct mw_heap_sums s;
	VALUE hash;

	rb_check_arity(argc, 0, 1);
	hash = argc && !NIL_P(argv[0]) ? argv[0] : rb_hash_new();
	Check_Type(hash, T_HASH);
	mw_tracker->heap_sums(&s);
	set_spans(hash, "lifespan", &s.lives);
	set_spans(hash, "deathspan", &s.deaths);
	rb_hash_aset(hash, ID2SYM(rb_intern("resurrects")), ULL2NUM(s.deaths.n));
	return hash;
}

void mw_init_heap_page_body(void)
{
	VALUE mod = rb_define_module("Mwrap"), body;

	/*
	 * A page of Ruby's heap, which holds slots for objects. Ruby takes whole pages from the
	 * system and gives them back. They belong to no location. There are no instances.
	 */
	body = rb_define_class_under(mod, "HeapPageBody", rb_cObject);
	rb_undef_alloc_func(body);
	rb_undef_method(CLASS_OF(body), "new");
	rb_define_singleton_method(body, "each", heap_each, 0);
	rb_define_singleton_method(body, "stat", heap_stat, -1);
}
