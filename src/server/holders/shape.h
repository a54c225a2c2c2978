/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape.h - the words of an object or a block that can be addresses of blocks.
 *
 * Memory has words left in it from the one who had it before: behind the last entry of an array or a
 * table, in a regular expression's unused map. Strings and numbers have data. Neither holds anything.
 * Objects that Ruby has for itself, and whatever isn't of a known shape, are scanned whole.
 */
#pragma once

#include "child.h"

/* The meaning of a block's words, known from the object or block that leads to it. */
enum mw_shape {
	MW_SHAPE_WORDS,  /* anything */
	MW_SHAPE_DATA,   /* bytes, or Ruby's objects: no block's address */
	MW_SHAPE_REGEXP, /* Ruby's compiled regular expression */
	MW_SHAPE_CACHES, /* addresses of caches, which are data: Ruby leaves places unwritten in them */
	MW_SHAPE_PACKED, /* Ruby's struct of an IO: addresses lie at multiples of 4, not of 8 */
	MW_SHAPE_TABLE /* entries of the table in the block that leads to it */
};

/* Memory in a slot. */
struct mw_span {
	uintptr_t from, to;
};

/* The blocks to which an object's slot leads. */
struct mw_slot {
	bool known; /* `to` is all; else every word may be an address */
	enum mw_shape shape; /* of the blocks that it leads to */
	unsigned n;
	uintptr_t to[2];
	struct mw_span regexp; /* of a compiled regular expression in the slot itself; from 0: there is none */
};
struct mw_slot mw_shape_of_slot(const struct mw_walk *, uintptr_t object, size_t size);

/* A hash table of Ruby's, in the block itself. False: that block is none. */
struct mw_table {
	uintptr_t bins, entries; /* blocks; bins 0: it has none of their own */
	size_t from, to; /* entries in use, and deleted ones among them */
	unsigned words; /* of an entry: hash, key, and a value unless it is a set's */
};
bool mw_shape_table(const struct mw_walk *, const struct mw_block *, struct mw_table *);
#define MW_TABLE_DELETED (~(uintptr_t)0) /* an entry's hash */

/* Is the block an array of Ruby's? *to: its elements' block. */
bool mw_shape_array(const struct mw_walk *, const struct mw_block *, uintptr_t *to);

/*
 * Is it the heap that Ruby has up to 3.2 for the elements of young arrays, hashes and structs? They are objects, and it
 * is full of old ones.
 */
bool mw_shape_young_heap(const struct mw_block *);

/*
 * Of a compiled regular expression: the addresses of its code, repeat ranges, exact text and two maps. All are data,
 * which Ruby leaves partly unwritten. Others that may be addresses are that of its names, and the last words.
 */
#define MW_REGEXP_DATA { 0, 64, 136, 408, 416 } /* bytes from its start */
enum { MW_REGEXP_NAMES = 88, MW_REGEXP_REST = 424 };
