/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_ids.c - finds an object by its object_id in a Ruby without ObjectSpace._id2ref, as from 4.1 on.
 *
 * No object gets an object_id by that. What Ruby's collector says of an object has the one that the object has. A class has
 * its own in a word of its slot. Objects that are made for it show whether that is so, and which word it is.
 */
#include "heap_walk.h"

/* Ruby's struct rb_gc_object_metadata_entry. Its lists end with a name of 0. */
struct fact {
	ID name;
	VALUE value;
};
static const struct fact *(*facts)(VALUE); /* allocates nothing after its first call; NULL: none */

enum { FIRST_WORD = 2, WORDS = 5 }; /* of a slot; the smallest one of a class has five */
static struct {
	enum { NOT_ASKED, KNOWN, UNKNOWN } so; /* under the GVL */
	ID object_id;
	unsigned word; /* of a class or module */
} ids;

static VALUE word(VALUE v, unsigned i)
{
	return ((const VALUE *)v)[i];
}

/* The id that Ruby says it has; 0: none. */
static VALUE said_id(VALUE v)
{
	for (const struct fact *f = facts(v); f->name; f++)
		if (f->name == ids.object_id)
			return f->value;
	return 0;
}

static bool is_module(VALUE v)
{
	return mw_is_a(v, RUBY_T_CLASS) || mw_is_a(v, RUBY_T_MODULE);
}

static VALUE id_of(VALUE v)
{
	return is_module(v) ? word(v, ids.word) : said_id(v);
}

/* --- learning ------------------------------------------------------------------------ */

static bool is_said(VALUE fresh)
{
	VALUE before = said_id(fresh);

	return !before && rb_obj_id(fresh) == said_id(fresh);
}

/* The word of a fresh module in which its id is; 0: none. */
static unsigned word_with_id(VALUE fresh)
{
	bool empty[WORDS];
	VALUE id;

	for (unsigned i = FIRST_WORD; i < WORDS; i++)
		empty[i] = !word(fresh, i);
	id = rb_obj_id(fresh);
	for (unsigned i = FIRST_WORD; i < WORDS; i++)
		if (empty[i] && word(fresh, i) == id)
			return i;
	return 0;
}

static bool learn(void)
{
	VALUE object = rb_obj_alloc(rb_cObject), class = rb_class_new(rb_cObject),
	      module = rb_module_new();

	ids.object_id = rb_intern("object_id");
	ids.word = word_with_id(class);
	return ids.word && word_with_id(module) == ids.word && is_said(object);
}

/* --- the walk ------------------------------------------------------------------------ */

struct search {
	VALUE id, found;
};

static void see_object(VALUE v, size_t slot, void *ctx)
{
	struct search *s = ctx;

	if (mw_is_whole(v) && id_of(v) == s->id)
		s->found = v;
}

/* :nodoc: walk_id(object_id) -> [the object], false if none has it, or nil: this Ruby doesn't tell */
static VALUE walk_id(VALUE mod, VALUE id)
{
	struct search s = { id, Qundef };

	if (!facts || !mw_objspace.each_objects)
		return Qnil;
	if (ids.so == NOT_ASKED)
		ids.so = learn() ? KNOWN : UNKNOWN;
	if (ids.so == UNKNOWN)
		return Qnil;
	if (FIXNUM_P(id))
		mw_each_object(see_object, &s);
	return s.found == Qundef ? Qfalse : rb_ary_new_from_args(1, s.found);
}

void mw_init_heap_ids(void)
{
	VALUE mod = rb_define_module_under(rb_define_module("Mwrap"), "Objects");

	mw_objspace_look_up(&facts, "rb_gc_object_metadata");
	rb_define_singleton_method(mod, "walk_id", walk_id, 1);
}
