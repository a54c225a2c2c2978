/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape.c - see shape.h.
 *
 * Offsets are those of Ruby 3.1 to 4.1. No version is asked for: an object whose words don't lead to
 * blocks of the right sizes is scanned whole.
 */
#include "shape.h"

#include "ruby.h"

enum {
	WORD = sizeof(uintptr_t),
	ARRAY_EMBEDDED = 1 << 13,
	HASH_TABLE = 1 << 15, /* it has a struct of a table; else at most 8 pairs in an array */
	HASH_AT = 2,
	REGEXP_AT = 2, /* words: of its block's address */
	REGEXP_INSIDE = 4, /* of itself, from 4.1 on */
	REGEXP_LEAST = 448,
	REGEXP_MOST = 456 /* bytes: 3.1's, and those since */
};

/* --- tables ---------------------------------------------------------------------- */

/* Ruby's struct st_table. */
struct table {
	uint8_t entry_power, others[7];
	uintptr_t type, n, bins, start, bound, entries;
};

/* Its struct set_table, from 4.0 on. */
struct set {
	uint8_t entry_power, others[7];
	uintptr_t type, n, start, bound, entries;
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

/* The block of a table's entries; NULL: these can't be a table's words. */
static const struct mw_block *entries_of(const struct mw_walk *w, unsigned power, uintptr_t n,
					 const struct mw_table *t)
{
	if (power > 40 || t->from > t->to || n > t->to - t->from || t->to > UINT64_C(1) << power)
		return NULL;
	return block_at(w, t->entries);
}

static bool is_table(const struct mw_walk *w, uintptr_t at, struct mw_table *to)
{
	enum { WORDS = 3 };
	const struct table *t = (const struct table *)at;
	const struct mw_block *entries;

	*to = (struct mw_table){ t->bins, t->entries, t->start, t->bound, WORDS };
	entries = t->type ? entries_of(w, t->entry_power, t->n, to) : NULL;
	return entries && entries->size == (uint64_t)WORDS * WORD << t->entry_power;
}

/* The bins follow the entries: at most four for each, of a word at most. */
static bool is_set(const struct mw_walk *w, uintptr_t at, struct mw_table *to)
{
	enum { WORDS = 2, MOST_BINS = 4 };
	const struct set *s = (const struct set *)at;
	const struct mw_block *entries;
	uint64_t least, bins;

	*to = (struct mw_table){ 0, s->entries, s->start, s->bound, WORDS };
	entries = s->type ? entries_of(w, s->entry_power, s->n, to) : NULL;
	if (!entries)
		return false;
	least = (uint64_t)WORDS * WORD << s->entry_power;
	bins = (uint64_t)MOST_BINS * WORD << s->entry_power;
	return entries->size >= least && entries->size - least <= bins;
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
	return b->size == sizeof(struct table) ? is_table(w, b->addr, to) :
						 b->size == sizeof(struct set) && is_set(w, b->addr, to);
}

/*
 * Each piece has the address of another one, or 0, and the pieces in use begin with a header of their own. The heap lies
 * at a multiple of a piece's size in memory that is a little larger.
 */
bool mw_shape_young_heap(const struct mw_block *b)
{
	enum { PIECE = 32 << 10, HEAP = 32 << 20, MAGIC = 0xfeab };
	struct piece {
		uint16_t used, others[3];
		uintptr_t next;
		uint16_t magic;
	};
	uintptr_t start = (b->addr + PIECE - 1) & -(uintptr_t)PIECE, in_use = 0;

	if (b->size < HEAP || b->size > HEAP + 2 * PIECE || start + HEAP > mw_block_end(b))
		return false;
	for (uintptr_t at = start; at < start + HEAP; at += PIECE) {
		const struct piece *p = (const struct piece *)at;

		if (p->next && (p->next - start >= HEAP || (p->next - start) % PIECE))
			return false;
		if (p->used && p->magic != MAGIC)
			return false;
		in_use += p->magic == MAGIC;
	}
	return in_use;
}

/* --- slots ----------------------------------------------------------------------- */

static struct mw_slot leads_to(enum mw_shape shape, uintptr_t to)
{
	return (struct mw_slot){ .known = true, .shape = shape, .n = 1, .to = { to } };
}

static struct mw_slot leads_nowhere(void)
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
	return p - object < size ? leads_nowhere() : leads_to(MW_SHAPE_DATA, p);
}

/* Do n elements at `at` lie in a block? `at` may be inside: an array may share another one's. */
static bool has_room(const struct mw_walk *w, uintptr_t at, uintptr_t n)
{
	int64_t i = mw_ranges_find(&w->blocks_at, at);

	return i >= 0 && n <= (mw_block_end(&w->blocks[i]) - at) / WORD;
}

static struct mw_slot array(const struct mw_walk *w, uintptr_t object)
{
	const struct array *a = (const struct array *)object;

	if (a->flags & ARRAY_EMBEDDED)
		return leads_nowhere();
	return has_room(w, a->elements, a->n) ? leads_to(MW_SHAPE_DATA, a->elements) :
						anything(MW_SHAPE_WORDS);
}

/* The beginning of a compiled regular expression: its code has a block with room for what it uses. */
static bool is_pattern(const struct mw_walk *w, uintptr_t at)
{
	const struct pattern {
		uintptr_t code;
		uint32_t used, room;
	} *p = (const struct pattern *)at;
	const struct mw_block *code = block_at(w, p->code);

	return code && p->used && p->used <= p->room && p->room <= code->size;
}

static struct mw_slot regexp(const struct mw_walk *w, uintptr_t object, size_t size)
{
	const struct mw_block *b = block_at(w, mw_ruby_word(object, REGEXP_AT));
	uintptr_t inside = object + REGEXP_INSIDE * WORD;

	if (b && b->size >= REGEXP_LEAST && b->size <= REGEXP_MOST)
		return leads_to(MW_SHAPE_REGEXP, b->addr);
	if (size < REGEXP_INSIDE * WORD + REGEXP_MOST || !is_pattern(w, inside))
		return anything(MW_SHAPE_WORDS);
	return (struct mw_slot){ .known = true, .regexp = { inside, inside + REGEXP_MOST } };
}

/* A table in the slot itself from 3.3 on. Else the slot has its address, or that of the pairs. */
static struct mw_slot hash(const struct mw_walk *w, uintptr_t object, size_t size)
{
	enum { INSIDE = 3 * WORD };
	struct mw_table t;
	bool inside = size >= INSIDE + sizeof(struct table) && is_table(w, object + INSIDE, &t);

	if (!(mw_ruby_word(object, 0) & HASH_TABLE) && !inside)
		return leads_to(MW_SHAPE_DATA, mw_ruby_word(object, HASH_AT));
	if (!inside)
		return anything(MW_SHAPE_WORDS);
	return (struct mw_slot){ .known = true, .shape = MW_SHAPE_DATA, .n = 2, .to = { t.bins, t.entries } };
}

struct mw_slot mw_shape_of_slot(const struct mw_walk *w, uintptr_t object, size_t size)
{
	switch (mw_ruby_type(object)) {
	case MW_T_STRING:
		return string(object, size);
	case MW_T_ARRAY:
		return array(w, object);
	case MW_T_HASH:
		return hash(w, object, size);
	case MW_T_REGEXP:
		return regexp(w, object, size);
	case MW_T_DATA:
		return anything(mw_ruby_role(object) == MW_ROLE_CACHES ? MW_SHAPE_CACHES : MW_SHAPE_WORDS);
	case MW_T_FILE:
		return anything(MW_SHAPE_PACKED);
	case MW_T_FLOAT:
		return leads_nowhere();
	case MW_T_BIGNUM:
		return anything(MW_SHAPE_DATA);
	default:
		return anything(MW_SHAPE_WORDS);
	}
}
