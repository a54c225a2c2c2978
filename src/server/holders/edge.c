/* SPDX-License-Identifier: GPL-2.0-or-later */
/* edge.c - see edge.h. In the child it calls only what neither allocates nor raises for these objects. */
#include "edge.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "first_fiber.h"
#include "ruby.h"

static const struct mw_walk_ruby *const rb = &mw_walk_ruby;

enum { GO_ON, STOP }; /* Ruby's ST_CONTINUE, ST_STOP */

/* A search for the name by which `child` is kept. */
struct search {
	mw_ruby_value child;
	uintptr_t id; /* 0: nothing yet */
};

/* --- variables of an object ----------------------------------------------------- */

static int is_variable(uintptr_t id, mw_ruby_value value, uintptr_t arg)
{
	struct search *s = (struct search *)arg;

	if (value != s->child)
		return GO_ON;
	s->id = id;
	return STOP;
}

/* The ID of the variable of `object` with that value, also of one that Ruby keeps for itself; 0: none. */
static uintptr_t variable(mw_ruby_value object, mw_ruby_value child)
{
	struct search s = { child, 0 };
	enum mw_ruby_type type = mw_ruby_type(object);

	if (!rb->rb_ivar_foreach || type == MW_T_IMEMO || type == MW_T_ICLASS || !mw_ruby_class(object))
		return 0;
	rb->rb_ivar_foreach(object, is_variable, (uintptr_t)&s);
	return s.id;
}

/* --- constants ------------------------------------------------------------------ */

/* A constant, as Ruby's tables have it from 2.2 to 4.0. */
struct constant {
	unsigned flags;
	int line;
	mw_ruby_value value, file; /* value: not an object if it is loaded on first use */
};

/*
 * The table must never grow: that would allocate. Ruby asks for a key's hash before it adds the key.
 * Once the table is full, each further key is told to be the first one, which Ruby doesn't add again.
 */
enum { CONSTANTS = (1 << 14) - 1 };
static struct {
	void *table; /* NULL: none */
	uintptr_t n, first;
} constants;

static int differ(uintptr_t a, uintptr_t b)
{
	return constants.n < CONSTANTS && a != b;
}

static uintptr_t hash_of(uintptr_t id)
{
	uintptr_t hash = id * (uintptr_t)UINT64_C(0x9e3779b97f4a7c15) >> 20;

	if (!constants.n++)
		constants.first = hash;
	return constants.n < CONSTANTS ? hash : constants.first;
}

/* Raises if there is no memory. */
static mw_ruby_value make_table(mw_ruby_value unused)
{
	static const struct mw_ruby_hash_type type = { differ, hash_of };

	constants.table = rb->rb_st_init_table_with_size(&type, CONSTANTS);
	return unused;
}

void mw_edge_begin(void)
{
	constants.table = NULL;
	if (rb->rb_mod_const_at && rb->rb_st_init_table_with_size && rb->rb_st_foreach &&
	    rb->rb_st_clear && rb->rb_st_free_table)
		mw_walk_ruby_try(make_table, 0);
}

void mw_edge_end(void)
{
	if (constants.table)
		rb->rb_st_free_table(constants.table);
	constants.table = NULL;
}

static int is_constant(uintptr_t id, uintptr_t entry, uintptr_t arg)
{
	struct search *s = (struct search *)arg;

	if (((const struct constant *)entry)->value != s->child)
		return GO_ON;
	s->id = id;
	return STOP;
}

/* The ID of the module's own constant with that value; 0: none. */
static uintptr_t constant(mw_ruby_value module, mw_ruby_value child)
{
	struct search s = { child, 0 };

	if (!constants.table)
		return 0;
	constants.n = 0;
	rb->rb_mod_const_at(module, constants.table);
	rb->rb_st_foreach(constants.table, is_constant, (uintptr_t)&s);
	rb->rb_st_clear(constants.table);
	return s.id;
}

/* --- variables of a thread ------------------------------------------------------- */

/*
 * Thread#[name]: Ruby tells the value of an ID, and not the IDs. It numbers them, and looks for the
 * number alone. `until`: one behind the last ID with a name.
 */
static uintptr_t thread_local(mw_ruby_value thread, mw_ruby_value child)
{
	enum {
		SHIFT = 4,
		UNNAMED = 4096
	}; /* bits below an ID's number; so many in a row: there are no more */
	static uintptr_t until;
	static struct {
		mw_ruby_value thread, child;
		uintptr_t id;
	} last;

	if (!rb->rb_thread_local_aref || !rb->rb_id2name)
		return 0;
	if (last.thread == thread && last.child == child)
		return last.id;
	for (uintptr_t i = 1, unnamed = 0; !until; i++) {
		unnamed = rb->rb_id2name(i << SHIFT) ? 0 : unnamed + 1;
		if (unnamed == UNNAMED)
			until = i - UNNAMED + 1;
	}
	last.thread = thread;
	last.child = child;
	last.id = 0;
	for (uintptr_t i = 1; i < until && !last.id; i++)
		if (rb->rb_thread_local_aref(thread, i << SHIFT) == child)
			last.id = i << SHIFT;
	return last.id;
}

/*
 * A Fiber has the values that Thread#[] tells while it runs. The thread that leads to it is taken for
 * the one that runs it; if none leads to it, this one, or the first.
 */
static uintptr_t fiber_local(mw_ruby_value before, mw_ruby_value child)
{
	uintptr_t id = mw_is_thread(before) ? thread_local(before, child) : 0;

	if (!id && rb->rb_thread_current)
		id = thread_local(rb->rb_thread_current(), child);
	if (!id && rb->rb_thread_main)
		id = thread_local(rb->rb_thread_main(), child);
	return id;
}

/* Is it the hash of the thread's Thread#thread_variable_get? */
static bool is_variables(mw_ruby_value thread, mw_ruby_value hash)
{
	uintptr_t id;
	const char *name;

	if (mw_ruby_type(hash) != MW_T_HASH || !mw_is_thread(thread) || !rb->rb_id2name)
		return false;
	id = variable(thread, hash);
	name = id ? rb->rb_id2name(id) : NULL;
	return name && !strcmp(name, "locals");
}

struct key {
	mw_ruby_value child, key;
};

static int is_value(mw_ruby_value key, mw_ruby_value value, mw_ruby_value arg)
{
	struct key *k = (struct key *)arg;

	if (value != k->child)
		return GO_ON;
	k->key = key;
	return STOP;
}

static void thread_variable(mw_ruby_value hash, mw_ruby_value child, char to[MW_LABEL])
{
	struct key k = { child, 0 };
	char name[MW_LABEL - 16];

	if (!rb->rb_hash_foreach || !rb->rb_sym2str)
		return;
	rb->rb_hash_foreach(hash, is_value, (uintptr_t)&k);
	if (k.key && mw_label_string(rb->rb_sym2str(k.key), name, sizeof(name)))
		snprintf(to, MW_LABEL, "[:%s]", name);
}

/* --- edges ----------------------------------------------------------------------- */

/* Ruby's own: a method, a call's cache. No constant and no variable has it. */
static bool is_internal(mw_ruby_value v)
{
	return mw_ruby_type(v) == MW_T_IMEMO || mw_ruby_type(v) == MW_T_ICLASS;
}

static void named(const char *before, uintptr_t id, const char *after, char to[MW_LABEL])
{
	const char *name = id ? rb->rb_id2name(id) : NULL;

	if (name)
		snprintf(to, MW_LABEL, "%s%.*s%s", before, MW_LABEL - 16, name, after);
}

void mw_edge_label(uintptr_t before, uintptr_t v, uintptr_t child, char to[MW_LABEL])
{
	uintptr_t id;
	const char *name;

	*to = 0;
	if (!rb->rb_id2name || is_internal(child))
		return;
	id = variable(v, child);
	name = id ? rb->rb_id2name(id) : NULL;
	if (name && *name == '@')
		named(name[1] == '@' ? "::" : ".", id, "", to);
	else if (mw_ruby_is_module(v))
		named("::", constant(v, child), "", to);
	else if (is_variables(v, child))
		snprintf(to, MW_LABEL, ".thread_variables");
	else if (mw_is_thread(v))
		named("[:", thread_local(v, child), "]", to);
	else if (mw_is_fiber(v))
		named("[:", fiber_local(before, child), "]", to);
	else if (is_variables(before, v))
		thread_variable(v, child, to);
}

uintptr_t mw_edge_key(uintptr_t before, uintptr_t v, uintptr_t child)
{
	if (is_internal(child))
		return 0;
	/* each of these has few values that aren't internal, and to find the name takes longer */
	if (mw_ruby_is_module(v) || mw_is_thread(v) || mw_is_fiber(v) ||
	    (mw_ruby_type(v) == MW_T_HASH && mw_is_thread(before)))
		return child;
	return variable(v, child);
}
