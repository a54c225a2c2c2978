/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * births.h - a number for each block that lives, found by its birth. A hash table in memory from the kernel.
 *
 * Births that follow each other lie side by side: blocks that die young cost few misses of the cache.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty. */
struct mw_lives {
	struct mw_life *cells;
	size_t mask, n;
};

/* birth: not 0, and not in it. False: no memory. */
bool mw_lives_add(struct mw_lives *, uint32_t birth, uint32_t value);
/* False: it isn't in it. */
bool mw_lives_get(const struct mw_lives *, uint32_t birth, uint32_t *value);
bool mw_lives_take(struct mw_lives *, uint32_t birth, uint32_t *value);
void mw_lives_free(struct mw_lives *);
