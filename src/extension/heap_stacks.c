/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_stacks.c - the objects held by stacks of threads and Fibers.
 *
 * A Thread or Fiber object marks its execution context: the values on its VM stack, the receivers
 * and code of its frames, its locals, and the machine stack, word by word. The running thread's own
 * machine stack is left out, and so is a Fiber's that never ran.
 *
 * The Fiber that runs has the thread's stack. The one with which the thread began is an object if somebody asked for
 * it, and from Ruby 4.1 on always. The thread then refers to that object, and to nothing on the stack itself.
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

/* --- a thread's Fibers ------------------------------------------------------------ */

static void see_last(VALUE v, void *to)
{
	*(VALUE *)to = v;
}

static VALUE last_reference(VALUE of)
{
	VALUE last = Qnil;

	mw_tracker->quiet_enter();
	mw_objspace.reachable(of, see_last, &last);
	mw_tracker->quiet_leave();
	return last;
}

/* Is a Fiber's last reference its thread, as in all Rubies so far, if it runs? This one shows it. */
static bool is_thread_last(void)
{
	static enum { NOT_ASKED, YES, NO } answer; /* under the GVL */

	if (answer == NOT_ASKED)
		answer = last_reference(rb_fiber_current()) == rb_thread_current() ? YES : NO;
	return answer == YES;
}

struct itself {
	VALUE object;
	bool found;
};

static void see_itself(VALUE v, void *ctx)
{
	struct itself *i = ctx;

	i->found |= v == i->object;
}

/* The reference that follows the one to the class. */
struct second {
	VALUE class, found;
	bool next;
};

static void see_second(VALUE v, void *ctx)
{
	struct second *s = ctx;

	if (s->next && !s->found)
		s->found = v;
	s->next |= v == s->class;
}

/*
 * Without an object of its first Fiber, a thread refers to what that refers to, and so to itself. Any other Fiber refers
 * to its block first.
 */
static bool began_with(VALUE thread, VALUE fiber)
{
	struct itself i = { .object = thread };
	struct second s = { .class = RBASIC_CLASS(fiber) };

	mw_tracker->quiet_enter();
	mw_objspace.reachable(thread, see_itself, &i);
	mw_objspace.reachable(fiber, see_second, &s);
	mw_tracker->quiet_leave();
	return !i.found && !(mw_is_a(s.found, RUBY_T_DATA) && RTEST(rb_obj_is_proc(s.found)));
}

/*
 * :nodoc: thread_with(Fiber, runs) -> the thread whose stack is the Fiber's: the Fiber runs, or the thread began with
 * it. nil: there is none. false: this Ruby doesn't tell.
 */
static VALUE thread_with(VALUE mod, VALUE fiber, VALUE runs)
{
	VALUE thread;

	if (!mw_objspace.reachable || !is_thread_last())
		return Qfalse;
	thread = last_reference(fiber);
	if (!mw_is_a(thread, RUBY_T_DATA) || !RTEST(rb_obj_is_kind_of(thread, rb_cThread)))
		return Qnil;
	return RTEST(runs) || began_with(thread, fiber) ? thread : Qnil;
}

/* --- what a stack holds ------------------------------------------------------------ */

struct stack {
	VALUE of, fibers;
};

static bool is_stack(const struct stack *s, VALUE v)
{
	for (long i = 0; i < RARRAY_LEN(s->fibers); i++)
		if (RARRAY_AREF(s->fibers, i) == v)
			return true;
	return s->of == v;
}

static VALUE held(struct mw_result_owner *hold, void *arg)
{
	const struct stack *s = arg;
	struct mw_seen *seen = mw_result_owner_sees(hold);
	struct mw_value_map map = { &seen->objects, &seen->index };
	VALUE all = rb_ary_new(), v;

	seen->walking = true;
	mw_tracker->quiet_enter();
	mw_objspace.each_objects(stop, NULL); /* ends a collection: a stale word may be a dead object's address */
	mw_objspace.reachable(s->of, add_stack_object, &map);
	for (long i = 0; i < RARRAY_LEN(s->fibers); i++)
		mw_objspace.reachable(RARRAY_AREF(s->fibers, i), add_stack_object, &map);
	for (uint32_t i = 0; i < mw_value_map_size(&map); i++)
		if (is_env(v = mw_value_map_at(&map, i)))
			mw_objspace.reachable(v, add_stack_object, &map);
	mw_tracker->quiet_leave();
	seen->walking = false;
	if (seen->objects.failed || seen->index.failed)
		mw_no_memory();
	for (uint32_t i = 0; i < mw_value_map_size(&map); i++) {
		VALUE class = mw_visible_class(v = mw_value_map_at(&map, i));

		if (!is_stack(s, v))
			rb_ary_push(all,
				    rb_assoc_new(class ? class : Qnil, ULL2NUM(mw_objspace.memsize(v))));
	}
	return all;
}

/*
 * :nodoc: held_by(Thread or Fiber, the Fibers with a thread's stack) -> [[class, bytes], ...], or nil: each other object
 * to which these refer. The class nil is that of Ruby's own objects.
 */
static VALUE held_by(VALUE mod, VALUE of, VALUE fibers)
{
	struct stack s = { of, fibers };

	if (!mw_objspace.each_objects || !mw_objspace.reachable || !mw_objspace.memsize)
		return Qnil;
	Check_Type(fibers, T_ARRAY);
	return mw_with_result_owner(held, &s);
}

void mw_init_heap_stacks(void)
{
	VALUE mod = rb_define_module_under(rb_define_module("Mwrap"), "Objects");

	rb_define_singleton_method(mod, "held_by", held_by, 2);
	rb_define_singleton_method(mod, "thread_with", thread_with, 2);
}
