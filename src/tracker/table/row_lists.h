/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * row_lists.h - rows of equal size that never move, in chunks made on demand, and lists of them by hash.
 *
 * Row 0 is none. A row that is given back is the next one that is added; its first four bytes are the
 * number of the one after. One thread at a time changes them: the owner has a lock.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shared/sys/mw_assert.h"
#include "tracker/base/arena.h"

enum { MW_ROWS_CHUNKS = 64 };

struct mw_rows {
	uint32_t each, in_chunk, max; /* bytes of a row; rows of a chunk; rows in all, without row 0 */
	uint32_t n;                   /* one past the last; 0: none yet */
	uint32_t given;               /* the first row that was given back; 0: none */
	void *chunks[MW_ROWS_CHUNKS];
};
#define MW_ROWS(type, rows_max)                                       \
	{ .each = sizeof(type),                                       \
	  .in_chunk = ((rows_max) + MW_ROWS_CHUNKS) / MW_ROWS_CHUNKS, \
	  .max = (rows_max) }

static inline void *mw_rows_at(const struct mw_rows *r, uint32_t i)
{
	mw_assert(i < r->n && r->n - 1 <= r->max); /* row 0 is none, but there */
	return (char *)r->chunks[i / r->in_chunk] + (size_t)(i % r->in_chunk) * r->each;
}

/* A zeroed row's number; 0: no room. */
static inline uint32_t mw_rows_add(struct mw_rows *r)
{
	uint32_t i = r->given ? r->given : r->n ? r->n : 1;
	void **chunk = &r->chunks[i / r->in_chunk % MW_ROWS_CHUNKS];

	if (r->given) {
		void *row = mw_rows_at(r, i);

		memcpy(&r->given, row, sizeof(r->given));
		memset(row, 0, r->each);
		return i;
	}
	if (i > r->max)
		return 0;
	if (!*chunk)
		*chunk = mw_arena_grow((size_t)r->in_chunk * r->each, MW_ARENA_STACK);
	if (!*chunk)
		return 0;
	r->n = i + 1;
	return i;
}

/* The row isn't in any list any more. */
static inline void mw_rows_give(struct mw_rows *r, uint32_t i)
{
	memset(mw_rows_at(r, i), 0, r->each);
	memcpy(mw_rows_at(r, i), &r->given, sizeof(r->given));
	r->given = i;
}

/*
 * The first rows of lists, by hash; made at the first use. n and most: powers of two. There are few at
 * first, since rows touch all of their pages soon, however few rows there are.
 */
struct mw_heads {
	uint32_t n, most, *first;
	/* puts row i in its list, unless it belongs to none; returns the next row's number */
	uint32_t (*link)(uint32_t i);
};

/* The head for a hash; NULL: no memory. */
static inline uint32_t *mw_head(struct mw_heads *h, uint64_t hash)
{
	if (!h->first)
		h->first = mw_arena_grow(h->n * sizeof(*h->first), MW_ARENA_STACK);
	mw_assert(h->n && (h->n & (h->n - 1)) == 0 && h->n <= h->most);
	return h->first ? &h->first[(hash ^ hash >> 32) & (h->n - 1)] : NULL;
}

/*
 * Makes more lists, as far as there is memory, if so many rows crowd these. `end`: one past the last row.
 * No pointer from mw_head is valid after that.
 */
void mw_heads_fit(struct mw_heads *, uint32_t rows, uint32_t end);

/* Puts i in front of a list. */
static inline void mw_push(uint32_t *head, uint32_t *next, uint32_t i)
{
	*next = *head;
	*head = i;
}

/* Empties all lists. */
static inline void mw_heads_clear(struct mw_heads *h)
{
	if (h->first)
		memset(h->first, 0, h->n * sizeof(*h->first));
}

/* Spreads the bits of a word over all of it. */
static inline uint64_t mw_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}
