/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe.c - see describe.h. Calls only what neither allocates nor raises for these objects. */
#include "describe.h"

#include <stdio.h>
#include <string.h>

#include "ruby.h"

static const struct mw_walk_ruby *const rb = &mw_walk_ruby;

/* Ruby's names of its internal objects, and ours. */
static const struct {
	const char *name, *text;
} internals[] = {
	{ "ment", "(method)" },
	{ "iseq", "(instruction sequence)" },
	{ "env", "(local variables)" },
	{ "cref", "(scope)" },
	{ "svar", "(special variables)" },
	{ "ifunc", "(block in C)" },
	{ "memo", "(memo)" },
	{ "ast", "(syntax tree)" },
	{ "tmpbuf", "(buffer)" },
	{ "alloc", "(buffer)" },
	{ "callinfo", "(call)" },
	{ "callcache", "(inline cache)" },
	{ "constcache", "(constant's cache)" },
	{ "throw_data", "(throw)" },
	{ "fields", "(instance variables)" },
};

static void internal(uintptr_t v, char to[MW_LABEL])
{
	const char *name = rb->rb_imemo_name ? rb->rb_imemo_name((int)mw_ruby_imemo(v)) : NULL;

	for (size_t i = 0; name && i < sizeof(internals) / sizeof(*internals); i++)
		if (!strcmp(name, internals[i].name)) {
			snprintf(to, MW_LABEL, "%s", internals[i].text);
			return;
		}
	snprintf(to, MW_LABEL, name ? "(%s)" : "(internal)", name);
}

bool mw_label_string(mw_ruby_value s, char *to, size_t size)
{
	const char *p;
	size_t i;

	if (s & 7 || s < 0x1000 || mw_ruby_type(s) != MW_T_STRING)
		return false;
	p = rb->rb_string_value_ptr(&s);
	for (i = 0; p && p[i] && i + 1 < size; i++)
		to[i] = (unsigned char)p[i] < ' ' ? '?' : p[i];
	to[i] = 0;
	return i > 0;
}

static bool module_named(mw_ruby_value m, char *to, size_t size)
{
	return mw_label_string(rb->rb_mod_name(m), to, size);
}

/* The object whose singleton class it is; 0: it isn't one, or that isn't known. */
static mw_ruby_value attached_to(mw_ruby_value m)
{
	mw_ruby_value v = 0;

	if (mw_ruby_type(m) != MW_T_CLASS || !(mw_ruby_word(m, 0) & rb->singleton))
		return 0;
	if (rb->rb_class_attached_object)
		v = rb->rb_class_attached_object(m);
	else if (rb->rb_attr_get && rb->attached)
		v = rb->rb_attr_get(m, rb->attached);
	return v & 7 || v < 0x1000 ? 0 : v;
}

/* A class or module: its name, or that of its nearest ancestor with a name. */
static void module_label(mw_ruby_value m, char to[MW_LABEL])
{
	char name[MW_LABEL - 24];
	mw_ruby_value of = attached_to(m);

	if (of && mw_ruby_is_module(of) && module_named(of, name, sizeof(name))) {
		snprintf(to, MW_LABEL, "#<Class:%s>", name);
		return;
	}
	if (of)
		m = rb->rb_class_real(m);
	if (module_named(m, name, sizeof(name))) {
		snprintf(to, MW_LABEL, of ? "#<Class:#<%s>>" : "%s", name);
		return;
	}
	if (mw_ruby_type(m) == MW_T_CLASS && rb->rb_class_superclass)
		while (m && !(m & 7) && mw_ruby_type(m) == MW_T_CLASS &&
		       !module_named(m, name, sizeof(name)))
			m = rb->rb_class_superclass(m);
	else
		snprintf(name, sizeof(name), "Module");
	snprintf(to, MW_LABEL, "(anonymous < %s)", name);
}

/* The class that users see; 0: none, as Ruby's own objects have. */
static mw_ruby_value shown_class_of(uintptr_t v)
{
	mw_ruby_value c = mw_ruby_class(v);

	return c && !(c & 7) ? rb->rb_class_real(c) : 0;
}

uintptr_t mw_holder_key(uintptr_t v)
{
	uintptr_t type = mw_ruby_type(v);
	mw_ruby_value c;

	if (type == MW_T_IMEMO)
		return type | (uintptr_t)mw_ruby_imemo(v) << 8;
	c = type == MW_T_ICLASS ? 0 : shown_class_of(v);
	if (!c && type == MW_T_DATA && rb->rb_objspace_data_type_name)
		return (uintptr_t)rb->rb_objspace_data_type_name(v);
	return c ? c : type;
}

/* Ruby's own objects that have no class. */
static void hidden(uintptr_t v, char to[MW_LABEL])
{
	static const char *const names[] = {
		[5] = "String", [7] = "Array", [8] = "Hash", [9] = "Struct", [12] = "data"
	};
	unsigned type = mw_ruby_type(v);
	const char *name = type < sizeof(names) / sizeof(*names) ? names[type] : NULL;

	if (type == MW_T_DATA && rb->rb_objspace_data_type_name && rb->rb_objspace_data_type_name(v))
		name = rb->rb_objspace_data_type_name(v);
	if (type == MW_T_ICLASS)
		name = "included module";
	if (type == MW_T_ZOMBIE)
		name = "waits for its finalizer";
	snprintf(to, MW_LABEL, "(%s)", name ? name : "internal");
}

void mw_holder_label(uintptr_t v, char to[MW_LABEL])
{
	mw_ruby_value c;

	if (mw_ruby_type(v) == MW_T_IMEMO)
		internal(v, to);
	else if (mw_ruby_type(v) != MW_T_ICLASS && (c = shown_class_of(v)))
		module_label(c, to);
	else
		hidden(v, to);
}

uintptr_t mw_step_key(uintptr_t v)
{
	return mw_ruby_is_module(v) ? v : mw_holder_key(v);
}

void mw_step_label(uintptr_t v, char to[MW_LABEL])
{
	if (mw_ruby_is_module(v))
		module_label(v, to);
	else
		mw_holder_label(v, to);
}
