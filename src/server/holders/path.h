/* SPDX-License-Identifier: GPL-2.0-or-later */
/* path.h - the path from a root to the holder of a block: as a key, to tell paths apart, and as text. */
#pragma once

#include "child.h"

static inline uint64_t mw_mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

/* The block at the head of the chain that holds block i: one that isn't held by a block. */
static inline uint32_t mw_head_of(const struct mw_walk *w, uint32_t i)
{
	while (w->via[i] == MW_VIA_BLOCK)
		i = w->from[i];
	return i;
}

static inline enum mw_held_by mw_held_by(const struct mw_walk *w, uint32_t i)
{
	return w->via[i] == MW_VIA_NONE ? MW_HELD_NOTHING : (enum mw_held_by)w->by[i];
}

/* Makes the keys of all objects on paths to wanted blocks. */
void mw_path_keys(struct mw_walk *);
/* The key of a wanted block's path; holder: its holder's key. After mw_path_keys. */
uint64_t mw_path_key(const struct mw_walk *, uint32_t block, uint64_t holder);

/* Writes the block's path into the row, whose `by` is set. */
void mw_path_of(const struct mw_walk *, struct mw_found *row, uint32_t block);
/* Adds a text; its offset. 0, which is an empty text: no room. */
uint32_t mw_put_text(struct mw_findings *, const char *);
