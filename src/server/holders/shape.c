/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shape.c - see shape.h. Offsets are those of Ruby 3.1 to 3.4 (mw_walk_ruby.shapes). */
#include "shape.h"

#include "ruby.h"

enum {
	WORD = sizeof(uintptr_t),
	ARRAY_EMBEDDED = 1 << 13,
	HASH_TABLE = 1 << 15, /* it has a struct of a table; else at most 8 pairs in an array */
	ARRAY_AT = 4,
	HASH_AT = 2,
	REGEXP_AT = 2 /* words */
};

/* --- tables ---------------------------------------------------------------------- */

/* Ruby's struct st_table. */
struct table {
	uint8_t entry_power, others[7];
	uintptr_t type, n, bins, start, bound, entries;
};

/* Its struct RArray, if the elements are in a block of their own. */
struct array {
	uintptr_t flags, class, n, room, elements;
};

static const struct mw_block *block_at(const struct mw_walk *w, uintptr_t start)
{
	int64_t i = mw_ranges_find(&w->blocks_at, start);

	return i >= 0 && w->blocks[i].addr == start ? &w->blocks[i] : NULL;
}

static bool is_table(const struct mw_walk *w, uintptr_t at, struct mw_table *to)
{
	const struct table *t = (const struct table *)at;
	const struct mw_block *entries;

	if (t->entry_power > 40 || !t->type || !t->entries || t->start > t->bound ||
	    t->n > t->bound - t->start || t->bound > UINT64_C(1) << t->entry_power)
		return false;
	entries = block_at(w, t->entries);
	if (!entries || entries->size != sizeof(struct mw_table_entry) << t->entry_power)
		return false;
	*to = (struct mw_table){ t->bins, t->entries, t->start, t->bound };
	return true;
}

/* Such as Ruby has for the files that it has loaded. Nobody else sees it, so it has no class. */
bool mw_shape_array(const struct mw_walk *w, const struct mw_block *b, uintptr_t *to)
{
	const struct array *a = (const struct array *)b->addr;
	const struct mw_block *elements;

	if (b->size != sizeof(*a) || a->flags != MW_T_ARRAY || a->class || a->n > a->room)
		return false;
	elements = block_at(w, a->elements);
	*to = a->elements;
	return elements && elements->size == a->room * WORD;
}

bool mw_shape_table(const struct mw_walk *w, const struct mw_block *b, struct mw_table *to)
{
	return b->size == sizeof(struct table) && is_table(w, b->addr, to);
}

/* --- slots ----------------------------------------------------------------------- */

static struct mw_slot leads_to(enum mw_shape shape, uintptr_t to)
{
	return (struct mw_slot){ true, shape, 1, { to } };
}

static struct mw_slot nothing(void)
{
	return (struct mw_slot){ .known = true };
}

static struct mw_slot anything(enum mw_shape shape)
{
	return (struct mw_slot){ .shape = shape };
}

/* C code may have whatever it likes in a String without a class: nobody else sees it. */
static struct mw_slot string(uintptr_t object, size_t size)
{
	mw_ruby_value v = object;
	uintptr_t p;

	if (!mw_ruby_class(object))
		return anything(MW_SHAPE_WORDS);
	p = (uintptr_t)mw_walk_ruby.rb_string_value_ptr(&v);
	return p - object < size ? nothing() : leads_to(MW_SHAPE_DATA, p);
}

/* A table in the slot itself from 3.3 on. Else the slot has its address, or that of the pairs. */
static struct mw_slot hash(const struct mw_walk *w, uintptr_t object, size_t size)
{
	enum { INSIDE = 3 * WORD };
	struct mw_table t;

	if (!(mw_ruby_word(object, 0) & HASH_TABLE))
		return leads_to(MW_SHAPE_DATA, mw_ruby_word(object, HASH_AT));
	if (size < INSIDE + sizeof(struct table) || !is_table(w, object + INSIDE, &t))
		return anything(MW_SHAPE_WORDS);
	return (struct mw_slot){ true, MW_SHAPE_DATA, 2, { t.bins, t.entries } };
}

struct mw_slot mw_shape_of_slot(const struct mw_walk *w, uintptr_t object, size_t size)
{
	if (!mw_walk_ruby.shapes)
		return anything(MW_SHAPE_WORDS);
	switch (mw_ruby_type(object)) {
	case MW_T_STRING:
		return string(object, size);
	case MW_T_ARRAY:
		return mw_ruby_word(object, 0) & ARRAY_EMBEDDED ?
			       nothing() :
			       leads_to(MW_SHAPE_DATA, mw_ruby_word(object, ARRAY_AT));
	case MW_T_HASH:
		return hash(w, object, size);
	case MW_T_REGEXP:
		return leads_to(MW_SHAPE_REGEXP, mw_ruby_word(object, REGEXP_AT));
	case MW_T_FLOAT:
		return nothing();
	case MW_T_BIGNUM:
		return anything(MW_SHAPE_DATA);
	default:
		return anything(MW_SHAPE_WORDS);
	}
}
