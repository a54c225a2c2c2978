/* SPDX-License-Identifier: GPL-2.0-or-later */
/* learn.c - see learn.h. Ruby's functions are called by name: the tracker doesn't link to Ruby. */
#include "learn.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "caller/ruby/api.h"
#include "caller/ruby/frame.h"
#include "track/track.h"

/* name, result, parameters */
#define FOR_EACH(X)                                                                                \
	X(rb_eval_string_protect, mw_value, (const char *, int *))                                 \
	X(rb_define_singleton_method, void, (mw_value, const char *, mw_value (*)(mw_value), int)) \
	X(rb_funcallv, mw_value, (mw_value, uintptr_t, int, const mw_value *))                     \
	X(rb_intern, uintptr_t, (const char *))                                                    \
	X(rb_str_new_cstr, mw_value, (const char *))                                               \
	X(rb_protect, mw_value, (mw_value(*)(mw_value), mw_value, int *))                          \
	X(rb_set_errinfo, void, (mw_value))

static struct {
#define X(name, result, params) result(*name) params;
	FOR_EACH(X)
#undef X
} ruby;

static bool find(void)
{
	bool all = true;

#define X(name, result, params) \
	all = (ruby.name = (result(*) params)dlsym(RTLD_DEFAULT, #name)) != NULL && all;
	FOR_EACH(X)
#undef X
	return all;
}

static mw_value learn(mw_value self)
{
	mw_ruby_learn_code();
	return self;
}

static mw_value run(mw_value object)
{
	/* several sizes: an allocator may treat one in its own way */
	static const char *const code[] = { "learn", "learn; Object; nil",
					    "learn; Object; Object; Object; nil" };

	for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++) {
		mw_value text = ruby.rb_str_new_cstr(code[i]);

		(void)ruby.rb_funcallv(object, ruby.rb_intern("instance_eval"), 1, &text);
	}
	return object;
}

void mw_learn(void)
{
	volatile mw_value object, nil;
	int raised = 0;

	mw_quiet_enter();
	if (find()) {
		nil = ruby.rb_eval_string_protect("nil", &raised);
		object = ruby.rb_eval_string_protect("Object.new", &raised);
		if (!raised) {
			ruby.rb_define_singleton_method(object, "learn", learn, 0);
			(void)ruby.rb_protect(run, object, &raised);
		}
		if (raised)
			ruby.rb_set_errinfo(nil);
	}
	mw_quiet_leave();
}
