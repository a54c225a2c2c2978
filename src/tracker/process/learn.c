/* SPDX-License-Identifier: GPL-2.0-or-later */
/* learn.c - see learn.h. Ruby's functions are called by name: the tracker doesn't link to Ruby. */
#include "learn.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "tracker/caller/ruby/api.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/track/track.h"

/* name, result, parameters */
#define FOR_EACH(X)                                                                                \
	X(rb_define_singleton_method, void, (mw_value, const char *, mw_value (*)(mw_value), int)) \
	X(rb_const_get, mw_value, (mw_value, uintptr_t))                                           \
	X(rb_errinfo, mw_value, (void))                                                            \
	X(rb_funcallv, mw_value, (mw_value, uintptr_t, int, const mw_value *))                     \
	X(rb_intern, uintptr_t, (const char *))                                                    \
	X(rb_str_new_cstr, mw_value, (const char *))                                               \
	X(rb_protect, mw_value, (mw_value(*)(mw_value), mw_value, int *))                          \
	X(rb_set_errinfo, void, (mw_value))

static struct {
#define X(name, result, params) result(*name) params;
	FOR_EACH(X)
#undef X
	const mw_value *rb_cObject;
} ruby;

static bool find_ruby_functions(void)
{
	bool all = true;

#define X(name, result, params) \
	all = (ruby.name = (result(*) params)dlsym(RTLD_DEFAULT, #name)) != NULL && all;
	FOR_EACH(X)
#undef X
	ruby.rb_cObject = dlsym(RTLD_DEFAULT, "rb_cObject");
	return ruby.rb_cObject && all;
}

static mw_value learn(mw_value self)
{
	mw_ruby_learn_code();
	return self;
}

/*
 * In the main script's frame. The present one may be none of code: from 3.3 on Ruby has a stand-in while it
 * compiles a file, and reads wild pointers if code is evaluated there.
 */
static mw_value eval(mw_value binding, const char *code)
{
	volatile mw_value file = ruby.rb_str_new_cstr("eval");
	const mw_value args[] = { ruby.rb_str_new_cstr(code), file };

	return ruby.rb_funcallv(binding, ruby.rb_intern("eval"), 2, args);
}

static mw_value run_learner(mw_value object_class)
{
	/* several sizes: an allocator may treat one in its own way */
	static const char *const code[] = { "proc { |o| o.learn }", "proc { |o| o.learn; Object; nil }",
					    "proc { |o| o.learn; Object; Object; Object; nil }" };
	volatile mw_value binding = ruby.rb_const_get(object_class, ruby.rb_intern("TOPLEVEL_BINDING"));
	volatile mw_value object = eval(binding, "Object.new");

	ruby.rb_define_singleton_method(object, "learn", learn, 0);
	for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++) {
		mw_value arg = object;

		(void)ruby.rb_funcallv(eval(binding, code[i]), ruby.rb_intern("call"), 1, &arg);
	}
	return object;
}

void mw_learn(void)
{
	mw_value before;
	int raised = 0;

	mw_quiet_enter();
	if (find_ruby_functions()) {
		before = ruby.rb_errinfo();
		(void)ruby.rb_protect(run_learner, *ruby.rb_cObject, &raised);
		if (raised)
			ruby.rb_set_errinfo(before);
	}
	mw_quiet_leave();
}
