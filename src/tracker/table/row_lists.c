/* SPDX-License-Identifier: GPL-2.0-or-later */
/* row_lists.c - more lists where rows crowd them; see row_lists.h. */
#include "row_lists.h"

enum { CROWD = 2 }; /* rows of a list, in the mean */

/*
 * Twice as many lists. False: no memory. Rows are the truth, not the lists: in a child that was forked
 * meanwhile some rows are in no list.
 */
static bool widen(struct mw_heads *h, uint32_t end)
{
	size_t bytes = h->n * sizeof(*h->first);
	uint32_t *old = h->first, *more = old ? mw_arena_grow(2 * bytes, MW_ARENA_STACK) : NULL;

	if (old && !more)
		return false;
	mw_set(&h->first, more);
	__atomic_store_n(&h->n, h->n * 2, __ATOMIC_RELEASE); /* so that child has no more than its memory */
	for (uint32_t i = 0; more && i < end;)
		i = h->link(i);
	mw_arena_unmap(old, bytes, MW_ARENA_STACK);
	return true;
}

void mw_heads_fit(struct mw_heads *h, uint32_t rows, uint32_t end)
{
	while (rows / CROWD > h->n && h->n < h->most && widen(h, end))
		;
}
