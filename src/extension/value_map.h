/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value_map.h - numbers Ruby's objects in the order in which they come: a hash table for walks,
 * whose memory isn't Ruby's.
 *
 * Both buffers belong to the caller, start empty and are used for nothing else. If one has
 * `failed`, the map is not complete.
 */
#pragma once

#include "ext.h"

struct mw_value_map {
	struct mw_buf *keys;  /* the VALUEs in that order */
	struct mw_buf *slots; /* open addressing; at least half of them are free */
};

enum { MW_NO_VALUE = 0x7fffffff };

/* Returns the object's number; MW_NO_VALUE: it isn't there. */
uint32_t mw_value_map_find(const struct mw_value_map *, VALUE);

/* Adds it if it isn't there. Returns its number; MW_NO_VALUE: no memory. */
uint32_t mw_value_map_add(struct mw_value_map *, VALUE);

static inline uint32_t mw_value_map_size(const struct mw_value_map *map)
{
	return (uint32_t)(map->keys->n / sizeof(VALUE));
}

static inline VALUE mw_value_map_at(const struct mw_value_map *map, uint32_t i)
{
	return ((const VALUE *)map->keys->p)[i];
}
