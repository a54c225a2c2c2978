/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages.h - the pages of the areas that may hold blocks.
 *
 * 64 consecutive pages are a leaf, of which there is one if any of its pages turned out to be in memory. A hash
 * table leads from an address to its leaf: so any address is as good as another one, and what is only reserved
 * costs nothing. There are MW_MAP_LEAVES at most; what has no room is told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "areas.h"

enum {
	/* the low bits are those of residency.h */
	MW_ENTRY_KNOWN = 32, /* the page is in memory or swapped out, in an area that may hold blocks */
	MW_ENTRY_EDGE = 64, /* the allocator's header beside a live block keeps a trim from the page */
	MW_ENTRY_SEVERAL = 128, /* blocks of several lines are there */
	MW_ENTRY_EDGE_GONE = 256, /* as MW_ENTRY_EDGE, beside a block that is asked about */
	MW_ENTRY_STAYS = 512 /* a block that isn't asked about has bytes here */
};

struct mw_map_entry {
	uint32_t line; /* the id that most of the bytes are of, if one has more than half of them */
	uint32_t live; /* bytes of live blocks */
	uint32_t lead; /* by which that id leads the others: Boyer and Moore's majority vote */
	uint16_t flags;
	uint16_t start; /* in units of 16 bytes from the page's start, plus 1: the last block that begins here; 0: none */
};

enum {
	MW_MAP_LEAF = 6,
	MW_MAP_LEAVES =
		42 << 10, /* 10.5 GiB with pages of 4 KiB, if they lie beside each other: 42 MiB of entries */
	MW_MAP_SLOTS = 17,
	MW_MAP_GROUP = 16, /* leaves */
	MW_MAP_NUMBER = 16 /* bits of a leaf's number + 1 in a key */
};

struct mw_map_pages {
	struct mw_map_entry *entries; /* of each leaf, by its number */
	uint64_t *slots; /* hash table: address >> shift + MW_MAP_LEAF << MW_MAP_NUMBER | leaf + 1; 0: free */
	uint64_t *keys; /* the same by address, once they are sorted */
	unsigned shift; /* of a page */
	uint32_t n; /* leaves there are */
	bool full; /* one had no room */
};

/* False: no memory. */
bool mw_map_pages_make(struct mw_map_pages *);
void mw_map_pages_free(struct mw_map_pages *);
/* Makes room for a page. NULL: there is no more. */
struct mw_map_entry *mw_map_pages_add(struct mw_map_pages *, uintptr_t at);
/* Once all are added. */
void mw_map_pages_sort(struct mw_map_pages *);

static inline uint64_t mw_map_leaf(const struct mw_map_pages *p, uintptr_t at)
{
	return (uint64_t)at >> (p->shift + MW_MAP_LEAF);
}

/* The slot of a leaf, or the free one where it would be. Neighbours are together: few pages of slots are touched. */
static inline uint64_t *mw_map_slot(const struct mw_map_pages *p, uint64_t leaf)
{
	uint64_t group = (leaf / MW_MAP_GROUP * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - MW_MAP_SLOTS);
	uint64_t i = group / MW_MAP_GROUP * MW_MAP_GROUP + leaf % MW_MAP_GROUP;

	while (p->slots[i] && p->slots[i] >> MW_MAP_NUMBER != leaf)
		i = (i + 1) % (1u << MW_MAP_SLOTS);
	return &p->slots[i];
}

/* The entry of a page in the leaf that a key is of. */
static inline struct mw_map_entry *mw_map_in_leaf(const struct mw_map_pages *p, uint64_t key, uintptr_t at)
{
	uint64_t leaf = (key & ((1u << MW_MAP_NUMBER) - 1)) - 1;

	return p->entries + (leaf << MW_MAP_LEAF) + (at >> p->shift) % (1u << MW_MAP_LEAF);
}

/* The entry of a page; NULL: it is absent, and has no block. */
static inline struct mw_map_entry *mw_map_entry(const struct mw_map_pages *p, uintptr_t at)
{
	uint64_t key = *mw_map_slot(p, mw_map_leaf(p, at));

	return key ? mw_map_in_leaf(p, key, at) : NULL;
}

struct mw_map_entry *mw_map_pages_search(const struct mw_map_pages *, uintptr_t *at, uintptr_t end);
/*
 * The first page in [*at, end) that is in memory or swapped out, and *at its address; NULL: none. Once they are
 * sorted. A loop over these takes the time of what is in memory, however large the range is.
 */
static inline struct mw_map_entry *mw_map_pages_next(const struct mw_map_pages *p, uintptr_t *at,
						     uintptr_t end)
{
	struct mw_map_entry *e;

	if (*at >= end)
		return NULL;
	e = mw_map_entry(p, *at);
	return e && e->flags & MW_ENTRY_KNOWN ? e : mw_map_pages_search(p, at, end);
}

/* --- fill.c: the walks over the live blocks ---------------------------------------------- */

/* By id. */
struct mw_map_sum {
	uint64_t bytes, blocks;
	double holds;
	uint64_t alone;
};

struct mw_map_walk {
	const struct mw_api *api;
	const struct mw_map_areas *areas;
	struct mw_map_pages *pages;
	bool glibc;
	uint64_t live, live_bytes, outside;
	uint32_t ids; /* one past the highest */
	const uint8_t *chosen; /* a bit for each id below chosen_n: what-if; NULL: none */
	uint32_t chosen_n;
	uint64_t chosen_blocks, chosen_bytes;
	struct mw_map_sum *sums; /* of `ids`; set for mw_map_share */
};

/* Fills the pages' live bytes, their lines and edges. */
void mw_map_fill(struct mw_map_walk *);
/* Then: what each id holds. */
void mw_map_share(struct mw_map_walk *);

/* The bytes of [start, end) that are in [first, last). */
static inline uintptr_t mw_map_overlap(uintptr_t start, uintptr_t end, uintptr_t first, uintptr_t last)
{
	uintptr_t from = start > first ? start : first, to = end < last ? end : last;

	return to > from ? to - from : 0;
}

/* A block's bytes in the page at `first`, which has `bytes` bytes. */
static inline size_t mw_map_within(uintptr_t start, uintptr_t end, uintptr_t first, size_t bytes)
{
	return mw_map_overlap(start, end, first, first + bytes);
}

/* One past a block's last byte; a block of 0 bytes counts as one of 1. */
static inline uintptr_t mw_map_end(const struct mw_live *l)
{
	return l->addr + (l->size ? l->size : 1);
}
