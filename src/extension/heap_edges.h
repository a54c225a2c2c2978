/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_edges.h - through what an object refers to others: the name of a variable, constant or
 * member, or the kind of container. Never contents, and so no hash's keys.
 */
#pragma once

#include "heap_walk.h"
#include "value_map.h"

/* Of each object that was found, by its number in the map. */
struct mw_node {
	uint32_t level; /* visible steps from the object looked for */
	uint32_t steps; /* of Ruby's own objects from the last visible one */
	bool internal; /* one of Ruby's own */
	bool wanted; /* are its referrers asked for? */
};

struct mw_referrers {
	struct mw_value_map map;
	struct mw_buf *nodes;
};

static inline const struct mw_node *mw_node(const struct mw_referrers *f, uint32_t number)
{
	return (const struct mw_node *)f->nodes->p + number;
}

/* An object that refers to some of those that a pass looked for: the wanted ones of from..to - 1. */
struct mw_hit {
	VALUE object;
	uint32_t first; /* the number of the first one */
	uint32_t n; /* references to any of them */
	uint32_t level;
	uint32_t from, to;
};

enum mw_edge_kind {
	MW_EDGE_VARIABLE, /* of an object or class: `id` */
	MW_EDGE_CONSTANT, /* `id` */
	MW_EDGE_MEMBER,   /* of a Struct: number `id` */
	MW_EDGE_ELEMENT,
	MW_EDGE_KEY,
	MW_EDGE_VALUE,
	MW_EDGE_CLASS,
	MW_EDGE_SUPERCLASS,
	MW_EDGE_OTHER
};

struct mw_edge {
	enum mw_edge_kind kind;
	ID id;
	uint32_t n;  /* references */
	uint32_t to; /* the number of the first object */
};

struct mw_edges {
	struct mw_edge v[32]; /* the last one holds what the others have no room for */
	unsigned n;
};

/*
 * Finds the edges of a hit. They have at least one. Calls none of the object's methods. May allocate Ruby's
 * memory; raises NoMemoryError.
 */
void mw_edges_find(struct mw_edges *, const struct mw_referrers *, const struct mw_hit *);

/* Returns "@name", "Name", "member :name", "array", "hash value" ... */
VALUE mw_edge_text(const struct mw_edge *, VALUE object);
