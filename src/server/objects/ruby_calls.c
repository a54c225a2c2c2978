/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ruby_calls.h"

struct mw_objects_ruby mw_objects_ruby;

bool mw_objects_ruby_find(const char **missing)
{
	if (!mw_walk_ruby_find(missing))
		return false;
	*missing = "rb_protect";
	if (!mw_walk_ruby.rb_intern || !mw_walk_ruby.rb_protect || !mw_walk_ruby.rb_errinfo ||
	    !mw_walk_ruby.rb_set_errinfo)
		return false;
#define X(name, result, params, needed)                                        \
	if (!mw_walk_ruby_look_up(&mw_objects_ruby.name, #name) && (needed)) { \
		*missing = #name;                                              \
		return false;                                                  \
	}
	MW_FOR_EACH_OBJECTS_CALL(X)
#undef X
	*missing = "rb_objspace_marked_object_p";
	return mw_objects_ruby.rb_objspace_marked_object_p || mw_objects_ruby.rb_objspace_garbage_object_p;
}

static mw_ruby_value stat_of(mw_ruby_value symbol)
{
	return mw_objects_ruby.rb_gc_stat(symbol);
}

static mw_ruby_value symbol_of(const char *name)
{
	return mw_objects_ruby.rb_id2sym(mw_walk_ruby.rb_intern(name));
}

/* A key of GC.stat: it raises for one that it hasn't. */
static mw_ruby_value key(const char *name)
{
	mw_ruby_value symbol = symbol_of(name);
	mw_ruby_value was = mw_walk_ruby.rb_errinfo();
	int raised;

	(void)mw_walk_ruby.rb_protect(stat_of, symbol, &raised);
	if (raised)
		mw_walk_ruby.rb_set_errinfo(was);
	return raised ? 0 : symbol;
}

bool mw_objects_ruby_learn(void)
{
	struct mw_objects_ruby *rb = &mw_objects_ruby;

	mw_walk_ruby_learn();
	rb->allocated = key("total_allocated_objects");
	rb->majors = key("major_gc_count");
	rb->freed_pages = key("total_freed_pages");
	rb->compactions = key("compact_count");
	rb->malloc_increase = key("malloc_increase_bytes");
	rb->state = symbol_of("state");
	rb->sweeping = symbol_of("sweeping");
	(void)rb->rb_gc_latest_gc_info(rb->state); /* its first call makes symbols, and may so free objects */
	return rb->allocated && rb->majors;
}
