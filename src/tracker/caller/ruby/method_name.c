/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "method_name.h"

#include <stdio.h>
#include <string.h>

#include "imemo.h"
#include "look.h"
#include "safe_read.h"

/* Ruby's objects, as from 2.6 to 4.0. A method gets no class's name if its objects don't fit these. */
enum {
	T_MASK = 0x1f,
	T_CLASS = 0x02,
	T_MODULE = 0x03,
	USER0 = 1 << 12,
	USER1 = 1 << 13,
	CLASS_OF = 8,     /* bytes */
	METHOD_OWNER = 32 /* bytes: the class or module that defines it */
};

static bool is_class(mw_value v)
{
	uintptr_t flags;

	if (!mw_pointer_like(v) || !mw_peek(v, &flags))
		return false;
	return (flags & T_MASK) == T_CLASS || (flags & T_MASK) == T_MODULE;
}

/* The class that owns a frame's method; 0: the frame is none of a method. */
static mw_value owner_of(mw_value frame)
{
	uintptr_t owner;

	return mw_ruby_is_method(frame) && mw_peek(frame + METHOD_OWNER, &owner) && is_class(owner) ?
		       owner :
		       0;
}

/*
 * The flag of singleton classes: which one it is, differs by version. The class of Object is one,
 * and Object isn't. 0: not known.
 */
static uintptr_t singleton_flag(void)
{
	static uintptr_t flag; /* with the GVL */
	uintptr_t object, class, with, without;

	if (!flag && mw_rb.rb_cObject && mw_peek((uintptr_t)mw_rb.rb_cObject, &object) &&
	    is_class(object) && mw_peek(object, &without) && mw_peek(object + CLASS_OF, &class) &&
	    is_class(class) && mw_peek(class, &with))
		flag = with & ~without & (USER0 | USER1);
	return flag && !(flag & (flag - 1)) ? flag : 0;
}

/* The class or module whose singleton class `owner` is; 0: none, or that isn't known. */
static mw_value attached(mw_value owner)
{
	mw_value v = 0;

	if (!(MW_AT(uintptr_t, owner, 0) & singleton_flag()))
		return 0;
	if (mw_rb.rb_class_attached_object) /* it would raise for another class */
		v = mw_rb.rb_class_attached_object(owner);
	else if (mw_rb.rb_attr_get && mw_rb.rb_intern)
		v = mw_rb.rb_attr_get(owner, mw_rb.rb_intern("__attached__"));
	return is_class(v) ? v : 0;
}

size_t mw_ruby_method_name(mw_value frame, const char *label, char *to)
{
	const char *last = strrchr(label, ' '), *method = last ? last + 1 : label, *name;
	mw_value owner = mw_rb.rb_mod_name ? owner_of(frame) : 0;
	char sign = '#';
	int n;

	if (!owner || *method == '<')
		return 0;
	name = mw_ruby_text(mw_rb.rb_mod_name(owner));
	if (!name && (owner = attached(owner))) {
		name = mw_ruby_text(mw_rb.rb_mod_name(owner));
		sign = '.';
	}
	if (!name)
		return 0;
	n = snprintf(to, MW_METHOD_NAME_MAX, "%.*s%s%c%s", (int)(method - label), label, name, sign,
		     method);
	return n > 0 && n < MW_METHOD_NAME_MAX ? (size_t)n : 0;
}
