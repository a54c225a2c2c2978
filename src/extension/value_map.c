/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "value_map.h"

enum { FIRST_SLOTS = 1024 }; /* a power of two */

static size_t slots_of(const struct mw_buf *slots)
{
	return slots->n / sizeof(uint32_t);
}

/* The slot with 1 + the object's number, or the free one (0) for it. */
static uint32_t *slot_of(const struct mw_value_map *map, VALUE v)
{
	uint32_t *slots = (uint32_t *)map->slots->p;
	size_t mask = slots_of(map->slots) - 1;
	size_t i = (v >> 3) * 0x9e3779b97f4a7c15u >> 24 & mask;

	while (slots[i] && mw_value_map_at(map, slots[i] - 1) != v)
		i = (i + 1) & mask;
	return slots + i;
}

uint32_t mw_value_map_find(const struct mw_value_map *map, VALUE v)
{
	uint32_t at = map->slots->n ? *slot_of(map, v) : 0;

	return at ? at - 1 : MW_NO_VALUE;
}

/* Keeps the old slots if there is no memory. */
static bool grow_slots(struct mw_value_map *map)
{
	static const uint32_t zeros[FIRST_SLOTS];
	size_t n = map->slots->n ? 2 * slots_of(map->slots) : FIRST_SLOTS;
	struct mw_buf larger = { 0 };

	for (size_t i = 0; i < n; i += FIRST_SLOTS)
		mw_buf_add(&larger, zeros, sizeof(zeros));
	if (larger.failed) {
		mw_buf_free(&larger);
		map->slots->failed = true;
		return false;
	}
	mw_buf_free(map->slots);
	*map->slots = larger;
	for (uint32_t i = 0; i < mw_value_map_size(map); i++)
		*slot_of(map, mw_value_map_at(map, i)) = i + 1;
	return true;
}

uint32_t mw_value_map_add(struct mw_value_map *map, VALUE v)
{
	uint32_t n = mw_value_map_size(map), *slot;

	if (2 * ((size_t)n + 1) > slots_of(map->slots) &&
	    (map->slots->failed || n + 1 >= MW_NO_VALUE || !grow_slots(map)))
		return MW_NO_VALUE;
	slot = slot_of(map, v);
	if (*slot)
		return *slot - 1;
	mw_buf_add(map->keys, &v, sizeof(v));
	if (map->keys->failed)
		return MW_NO_VALUE;
	*slot = n + 1;
	return n;
}
