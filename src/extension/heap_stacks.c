/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_stacks.c - the objects held by stacks of threads and Fibers.
 *
 * A Thread or Fiber object marks its execution context: the values on its VM stack, the receivers
 * and code of its frames, its locals, and the machine stack, word by word. The running thread's own
 * machine stack is left out, and so is a Fiber's that never ran.
 */
#include "heap_walk.h"
#include "value_map.h"

/* A stack's objects are those that it refers to, and those in an env: the locals of a frame with a closure. */
static void add_stack_object(VALUE v, void *ctx)
{
	if (!RB_SPECIAL_CONST_P(v) && mw_is_whole(v))
		mw_value_map_add(ctx, v);
}

static bool is_env(VALUE v)
{
	return mw_is_a(v, RUBY_T_IMEMO) && mw_imemo_kind(v) == MW_IMEMO_ENV;
}

static int stop(void *start, void *end, size_t slot, void *unused)
{
	return 1;
}

static VALUE held(struct mw_result_owner *hold, void *of)
{
	struct mw_seen *seen = mw_result_owner_sees(hold);
	struct mw_value_map map = { &seen->objects, &seen->index };
	VALUE all = rb_ary_new(), v;

	seen->walking = true;
	mw_tracker->quiet_enter();
	mw_objspace.each_objects(stop, NULL); /* ends a collection: a stale word may be a dead object's address */
	mw_objspace.reachable(*(const VALUE *)of, add_stack_object, &map);
	for (uint32_t i = 0; i < mw_value_map_size(&map); i++)
		if (is_env(v = mw_value_map_at(&map, i)))
			mw_objspace.reachable(v, add_stack_object, &map);
	mw_tracker->quiet_leave();
	seen->walking = false;
	if (seen->objects.failed || seen->index.failed)
		mw_no_memory();
	for (uint32_t i = 0; i < mw_value_map_size(&map); i++) {
		VALUE class = mw_visible_class(v = mw_value_map_at(&map, i));

		if (v != *(const VALUE *)of)
			rb_ary_push(all,
				    rb_assoc_new(class ? class : Qnil, ULL2NUM(mw_objspace.memsize(v))));
	}
	return all;
}

/*
 * :nodoc: held_by(Thread or Fiber) -> [[class, bytes], ...], or nil: each other object that it refers to.
 * The class nil is that of Ruby's own objects.
 */
static VALUE held_by(VALUE mod, VALUE of)
{
	if (!mw_objspace.each_objects || !mw_objspace.reachable || !mw_objspace.memsize)
		return Qnil;
	return mw_with_result_owner(held, &of);
}

void mw_init_heap_stacks(void)
{
	VALUE mod = rb_define_module_under(rb_define_module("Mwrap"), "Objects");

	rb_define_singleton_method(mod, "held_by", held_by, 1);
}
