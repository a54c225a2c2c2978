/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ruby.h"

#include <dlfcn.h>
#include <string.h>

struct mw_walk_ruby mw_walk_ruby;

/* POSIX lets dlsym's result be a function's address. */
bool mw_walk_ruby_look_up(void *to, const char *name)
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

bool mw_walk_ruby_find(const char **missing)
{
	static bool found; /* relaxed; each thread finds the same values */

	if (__atomic_load_n(&found, __ATOMIC_RELAXED))
		return true;
#define X(name, result, params, needed)                                     \
	if (!mw_walk_ruby_look_up(&mw_walk_ruby.name, #name) && (needed)) { \
		*missing = #name;                                           \
		return false;                                               \
	}
	MW_FOR_EACH_WALK(X)
#undef X
	if (!mw_walk_ruby_look_up(&mw_walk_ruby.rb_cObject, "rb_cObject")) {
		*missing = "rb_cObject";
		return false;
	}
	if (!*mw_walk_ruby.rb_cObject) {
		*missing = "its classes so early";
		return false;
	}
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

void mw_walk_ruby_try(mw_ruby_value (*f)(mw_ruby_value), mw_ruby_value arg)
{
	mw_ruby_value before;
	int raised = 0;

	if (!mw_walk_ruby.rb_protect || !mw_walk_ruby.rb_errinfo || !mw_walk_ruby.rb_set_errinfo)
		return;
	before = mw_walk_ruby.rb_errinfo();
	mw_walk_ruby.rb_protect(f, arg, &raised);
	if (raised)
		mw_walk_ruby.rb_set_errinfo(before);
}

static bool is_one_of(const char *name, const char *const *names)
{
	for (; name && *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

static enum mw_ruby_role role_of_imemo(unsigned kind)
{
	static const char *const transient[] = { "cref",      "svar",       "throw_data", "callinfo",
						 "callcache", "constcache", NULL },
				 *const parts[] = { "fields", NULL }; /* from 4.0 on */
	const char *name = mw_walk_ruby.rb_imemo_name ? mw_walk_ruby.rb_imemo_name((int)kind) : NULL;

	return is_one_of(name, transient) ? MW_ROLE_TRANSIENT :
	       is_one_of(name, parts)     ? MW_ROLE_PART :
					    MW_ROLE_OWN;
}

/* From 4.0 on; pin_array_list has objects that C code registered, and is a part of Ruby's roots. */
static enum mw_ruby_role role_of_data(mw_ruby_value data)
{
	static const char *const parts[] = { "VM/pin_array_list", NULL }, *const caches[] = {
		"VM/cc_table", NULL
	};
	const char *name = mw_ruby_class(data) || !mw_walk_ruby.rb_objspace_data_type_name ?
				   NULL :
				   mw_walk_ruby.rb_objspace_data_type_name(data);

	return is_one_of(name, parts)  ? MW_ROLE_PART :
	       is_one_of(name, caches) ? MW_ROLE_CACHES :
					 MW_ROLE_OWN;
}

enum mw_ruby_role mw_ruby_role(mw_ruby_value v)
{
	static enum mw_ruby_role of[16]; /* by kind: Ruby names those alone that there are */
	enum mw_ruby_role *role;

	if (mw_ruby_type(v) == MW_T_DATA)
		return role_of_data(v);
	if (mw_ruby_type(v) != MW_T_IMEMO)
		return MW_ROLE_OWN;
	role = &of[mw_ruby_imemo(v)];
	if (!*role)
		*role = role_of_imemo(mw_ruby_imemo(v));
	return *role;
}
