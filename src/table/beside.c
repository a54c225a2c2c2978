/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "beside.h"

#include "record.h"

enum {
	LEAF_SHIFT = 27, /* address space that a piece is for: 128 MiB */
	ROOT = 1 << (48 - LEAF_SHIFT), /* and all of it; what isn't used is never touched */
	LEAF = (1 << LEAF_SHIFT) / MW_BESIDE, /* words in a piece: 1 MiB */
};

/* Not counted, and which of the addresses that share its word isn't. */
static uint32_t uncounted(const void *p)
{
	return MW_REF_END | (uint32_t)((uintptr_t)p % MW_BESIDE);
}

static uint32_t *leaves[ROOT]; /* each written once: release */

/* The word for p; NULL: its piece isn't there. */
static uint32_t *word(const void *p)
{
	uint32_t *leaf;

	if ((uintptr_t)p >> 48)
		return NULL;
	leaf = __atomic_load_n(&leaves[(uintptr_t)p >> LEAF_SHIFT], __ATOMIC_ACQUIRE);
	return leaf ? &leaf[(uintptr_t)p / MW_BESIDE % LEAF] : NULL;
}

static void add_leaf(uintptr_t p)
{
	size_t bytes = LEAF * sizeof(uint32_t);
	uint32_t *none = NULL, *leaf;

	if (p >> 48)
		return;
	leaf = mw_own_grow(bytes, MW_OWN_RECORD);
	if (leaf && !__atomic_compare_exchange_n(&leaves[p >> LEAF_SHIFT], &none, leaf, false,
						 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		mw_own_unmap(leaf, bytes); /* another thread was first */
}

bool mw_beside_put(const void *p, uint32_t ref)
{
	uint32_t *w = word(p);

	if (!w) {
		add_leaf((uintptr_t)p);
		w = word(p);
	}
	if (!w)
		return false;
	mw_set(w, ref < MW_REF_END ? ref : uncounted(p));
	return true;
}

uint32_t mw_beside_get(const void *p)
{
	const uint32_t *w = word(p);
	uint32_t ref = w ? mw_get(w) : 0;

	if (ref < MW_REF_END)
		return ref;
	return ref == uncounted(p) ? MW_REF_END : 0;
}
