/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * first_fiber.c - see first_fiber.h.
 *
 * A thread whose first Fiber is no object refers to what that refers to, and so to itself. Else it refers to the Fiber that
 * runs, and last to the first one. A Fiber's last reference is its thread. What doesn't fit this is an object of its own.
 */
#include "first_fiber.h"

#include <string.h>

#include "ruby.h"

static const struct mw_walk_ruby *const rb = &mw_walk_ruby;

/* Of Ruby's own types of data. */
static bool is_data(mw_ruby_value v, const char *name)
{
	const char *type;

	if (!v || mw_ruby_type(v) != MW_T_DATA || !rb->rb_objspace_data_type_name)
		return false;
	type = rb->rb_objspace_data_type_name(v);
	return type && !strcmp(type, name);
}

bool mw_is_thread(uintptr_t v)
{
	return is_data(v, "VM/thread");
}

bool mw_is_fiber(uintptr_t v)
{
	return is_data(v, "fiber");
}

struct refs {
	mw_ruby_value of, last, last_fiber;
	bool itself;
};

static void see(mw_ruby_value v, void *ctx)
{
	struct refs *r = ctx;

	r->itself |= v == r->of;
	r->last = v;
	if (mw_is_fiber(v))
		r->last_fiber = v;
}

static struct refs refs_of(mw_ruby_value v)
{
	struct refs r = { .of = v };

	rb->rb_objspace_reachable_objects_from(v, see, &r);
	return r;
}

uintptr_t mw_began_with(uintptr_t object)
{
	mw_ruby_value thread = mw_is_fiber(object) ? refs_of(object).last : 0;
	struct refs r;

	if (!mw_is_thread(thread))
		return 0;
	r = refs_of(thread);
	return !r.itself && r.last_fiber == object ? thread : 0;
}
