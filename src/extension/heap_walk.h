/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_walk.h - shared by the walks over Ruby's heap.
 *
 * The functions are those of Ruby's own extension objspace.so. They are no public API, so they are
 * looked up when the extension is loaded: any may be NULL.
 *
 * Must stay true:
 *  - A walk holds the GVL and calls nothing that allocates Ruby's memory. each_objects() ends a
 *    collection that is under way, so each object that it shows is alive until the next one begins.
 *    An object that must outlive the walk goes into a result owner's `objects`.
 *  - reachable() is called for no object of another Ractor, which may be changing it. So a walk
 *    that uses it refuses while there are others.
 */
#pragma once

#include <string.h>

#include "ext.h"

struct mw_objspace {
	void (*each_objects)(int (*)(void *start, void *end, size_t slot, void *), void *);
	void (*reachable)(VALUE, void (*)(VALUE, void *), void *);
	void (*roots)(void (*)(const char *category, VALUE, void *), void *);
	size_t (*memsize)(VALUE);
	const char *(*imemo_name)(int type);
};
/* Written by mw_init_heap_walk alone. */
extern struct mw_objspace mw_objspace;

enum {
	MW_IMEMO_KINDS = 16,
	MW_IMEMO_ENV = 0, /* as in all Rubies so far */
	MW_IMEMO_NAMED = 9 /* above are gaps, and some Rubies abort at these */
};

/* Writes the address of one of Ruby's exported functions to *to; NULL: there is none. */
void mw_objspace_look_up(void *to, const char *name);

/* True if the slot holds an object. One that awaits its finalizer is an object. */
static inline bool mw_is_object(VALUE v)
{
	enum ruby_value_type type = RB_BUILTIN_TYPE(v);

	return type != RUBY_T_NONE && type != RUBY_T_MOVED;
}

/* True if the object can be asked for its references and its size. */
static inline bool mw_is_whole(VALUE v)
{
	return mw_is_object(v) && RB_BUILTIN_TYPE(v) != RUBY_T_ZOMBIE && RB_BUILTIN_TYPE(v) != RUBY_T_NODE;
}

static inline bool mw_is_a(VALUE v, enum ruby_value_type type)
{
	return !RB_SPECIAL_CONST_P(v) && RB_BUILTIN_TYPE(v) == type;
}

static inline unsigned mw_imemo_kind(VALUE v)
{
	return (RBASIC(v)->flags >> RUBY_FL_USHIFT) & (MW_IMEMO_KINDS - 1);
}

/* Is it an internal object of that type? Ruby names those alone that there are. */
static inline bool mw_imemo_is(VALUE v, const char *name)
{
	const char *its = mw_objspace.imemo_name ? mw_objspace.imemo_name((int)mw_imemo_kind(v)) : NULL;

	return its && !strcmp(its, name);
}

/* Returns the class that the object has for Ruby code; 0: it is one of Ruby's own. */
VALUE mw_visible_class(VALUE);

/*
 * Calls each(object, slot's bytes, ctx) for each object, in quiet mode. each may raise nothing, and
 * allocates by mw_buf_add at most.
 */
void mw_each_object(void (*each)(VALUE, size_t slot, void *), void *ctx);

/* A heap page that has objects. */
struct mw_heap_slots {
	uintptr_t start; /* of its first slot */
	size_t slot, total, used; /* a slot's bytes; slots */
};
/* Appends one for each page. In quiet mode; each_objects is there. */
void mw_heap_slots_each(struct mw_buf *);

/* Returns the name of an object's type as ObjectSpace has it: "T_STRING", "imemo_env". */
const char *mw_type_name(enum ruby_value_type, unsigned imemo_kind);
