/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.c - Mwrap.stacks.
 *
 * The profile is made and sorted without the GVL, then turned into Ruby's objects. A result owner
 * has it meanwhile, since any of these may raise.
 */
#include "ext.h"

static ID id_by, id_live, id_total, id_objects;

struct question {
	VALUE location; /* a frozen String, or nil */
	enum mw_profile_by by;
};

/* "FILE:LINE:in `NAME'", without the parts that aren't known; a location's own name has its file already. */
static VALUE frame_string(const struct mw_profile_frame *f)
{
	size_t n = strlen(f->file);
	VALUE s;

	if (f->kind == MW_KIND_SPECIAL || (n && !strncmp(f->name, f->file, n)))
		return mw_location_string(f->name, strlen(f->name));
	s = rb_enc_str_new(f->file, (long)n, rb_utf8_encoding());
	if (n && f->line)
		rb_str_catf(s, ":%u", f->line);
	rb_str_cat_cstr(s, n ? ":in `" : "in `");
	rb_str_cat_cstr(s, f->name);
	rb_str_cat_cstr(s, "'");
	return mw_location_string(RSTRING_PTR(s), (size_t)RSTRING_LEN(s));
}

/* texts: the Strings of the frames so far, by their numbers; nil: not made yet */
static VALUE frames_of(const struct mw_profile *p, const struct mw_profile_stack *s, VALUE texts)
{
	VALUE frames = rb_ary_new_capa(s->depth);

	for (uint32_t i = 0; i < s->depth; i++) {
		VALUE text = rb_ary_entry(texts, s->frames[i]);

		if (NIL_P(text)) {
			text = frame_string(&p->frames[s->frames[i]]);
			rb_ary_store(texts, s->frames[i], text);
		}
		rb_ary_push(frames, text);
	}
	return frames;
}

static VALUE all_stacks(struct mw_result_owner *hold, void *arg)
{
	const struct question *q = arg;
	const struct mw_profile *p;
	const struct mw_row *only = NULL;
	VALUE all = rb_ary_new(), texts = rb_ary_new();

	mw_result_owner_profile(hold, q->by);
	p = hold->profile;
	if (!NIL_P(q->location)) {
		only = mw_location_find(p->snapshot, RSTRING_PTR(q->location),
					(size_t)RSTRING_LEN(q->location));
		if (!only)
			return all;
	}
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct mw_profile_stack *s = &p->stacks[i];

		if ((only && &p->snapshot->rows[s->row] != only) || !(s->bytes[q->by] | s->blocks[q->by]))
			continue;
		rb_ary_push(all,
			    rb_ary_new_from_args(4, frames_of(p, s, texts), ULL2NUM(s->bytes[q->by]),
						 ULL2NUM(s->blocks[q->by]), UINT2NUM(s->samples[q->by])));
	}
	return all;
}

static enum mw_profile_by by_arg(VALUE by)
{
	ID id = SYMBOL_P(by) ? SYM2ID(by) : 0;

	if (id == id_live)
		return MW_BY_LIVE;
	if (id == id_total)
		return MW_BY_TOTAL;
	if (id != id_objects)
		rb_raise(rb_eArgError, "by: %+" PRIsVALUE " isn't known: give :live, :total or :objects",
			 by);
	return MW_BY_OBJECTS;
}

/*
 * call-seq: Mwrap.stacks(location = nil, by: :live) -> [[frames, bytes, blocks, samples], ...]
 *
 * Returns who called the locations, the stack with the most bytes first. The option +stacks+ says
 * how many are kept; see doc/stacks.md. +location+ is a String as Mwrap[] takes it: then only its stacks.
 *
 * frames::  Array of frozen Strings, innermost first: <tt>"FILE:LINE:in `NAME'"</tt> for Ruby code,
 *           <tt>"MODULE:in `NAME'"</tt> for native code, <tt>"in `NAME'"</tt> for a method in C.
 *           UTF-8 if it is valid as that, else binary
 * bytes::   bytes live now, or with <tt>by: :total</tt> bytes allocated since the last reset, or
 *           the start of the process; with <tt>by: :objects</tt> the slots of Ruby's objects that stay
 * blocks::  the number of these blocks, allocations, or objects
 * samples:: the number of sampled allocations that this rests on
 *
 * The numbers are Integers: bytes and blocks from 0 to 2**64 - 1, samples from 0 to 2**32 - 1.
 *
 * The stacks of a location add up to its +live_bytes+ and +live+, or +total+ and +allocations+, each
 * exactly. How they are divided among the stacks is estimated from samples. A location without a
 * sample has one stack, which is the location alone, with 0 samples. That is so for all of them
 * with <tt>stacks:off</tt>. Of some samples of objects the stack is kept. Stacks with 0 bytes and blocks are left out.
 *
 * The Array is empty if nothing was allocated at +location+, and without the tracker. The call's own
 * allocations aren't tracked, as in Mwrap.each. Making it takes some milliseconds, during which other
 * threads run.
 *
 * Raises TypeError if +location+ isn't a String, ArgumentError for another +by+, and NoMemoryError.
 */
static VALUE mwrap_stacks(int argc, VALUE *argv, VALUE mod)
{
	struct question q = { .by = MW_BY_LIVE };
	VALUE options, by, all;

	rb_scan_args(argc, argv, "01:", &q.location, &options);
	if (!NIL_P(options) && rb_get_kwargs(options, &id_by, 0, 1, &by) && by != Qundef)
		q.by = by_arg(by);
	if (!NIL_P(q.location)) {
		StringValue(q.location);
		q.location = rb_str_new_frozen(q.location); /* other threads run meanwhile */
	}
	all = mw_with_result_owner_hushed(all_stacks, &q);
	RB_GC_GUARD(q.location);
	return all;
}

void mw_init_stacks(void)
{
	VALUE mod = rb_define_module("Mwrap");

	id_by = rb_intern("by");
	id_live = rb_intern("live");
	id_total = rb_intern("total");
	id_objects = rb_intern("objects");
	rb_define_singleton_method(mod, "stacks", mwrap_stacks, -1);
}
