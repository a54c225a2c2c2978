/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ruby.c - see ruby.h. */
#include "ruby.h"

#include <dlfcn.h>
#include <string.h>

struct mw_walk_ruby mw_walk_ruby;

/* POSIX lets dlsym's result be a function's address. */
static bool look_up(void *to, const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	memcpy(to, &p, sizeof(p));
	return p != NULL;
}

/* The class of Object is a singleton class, and Object isn't: which of two flags tells them apart? */
static uintptr_t singleton_flag(mw_ruby_value object)
{
	uintptr_t user = 3 << 12, without = mw_ruby_word(object, 0);
	uintptr_t flag = mw_ruby_word(mw_ruby_class(object), 0) & ~without & user;

	return flag & (flag - 1) ? 0 : flag;
}

/* 3.1 to 3.4 */
static bool has_shapes(void)
{
	const int *version; /* major, minor, teeny */

	return look_up(&version, "ruby_api_version") && version[0] == 3 && version[1] >= 1 &&
	       version[1] <= 4;
}

bool mw_walk_ruby_find(const char **missing)
{
	static bool found; /* relaxed; each thread finds the same values */

	if (__atomic_load_n(&found, __ATOMIC_RELAXED))
		return true;
#define X(name, result, params, needed)                        \
	if (!look_up(&mw_walk_ruby.name, #name) && (needed)) { \
		*missing = #name;                              \
		return false;                                  \
	}
	MW_FOR_EACH_WALK(X)
#undef X
	if (!look_up(&mw_walk_ruby.rb_cObject, "rb_cObject")) {
		*missing = "rb_cObject";
		return false;
	}
	if (!*mw_walk_ruby.rb_cObject) {
		*missing = "its classes so early";
		return false;
	}
	mw_walk_ruby.shapes = has_shapes();
	__atomic_store_n(&found, true, __ATOMIC_RELAXED);
	return true;
}

void mw_walk_ruby_learn(void)
{
	if (mw_walk_ruby.singleton)
		return;
	if (!mw_walk_ruby.rb_class_attached_object && mw_walk_ruby.rb_intern)
		mw_walk_ruby.attached = mw_walk_ruby.rb_intern("__attached__");
	mw_walk_ruby.singleton = singleton_flag(*mw_walk_ruby.rb_cObject);
}
