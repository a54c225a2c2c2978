/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "side_index.h"

#include "record.h"

enum {
	LEAF_SHIFT = 27, /* a leaf's address space: 128 MiB */
	BRANCH_SHIFT = 39, /* a branch's: 512 GiB */
	ROOT = 1 << (MW_ADDRESS_BITS - BRANCH_SHIFT),
	BRANCH = 1 << (BRANCH_SHIFT - LEAF_SHIFT), /* leaves */
	REGION = 4 << 20, /* mimalloc's threads begin with a region of their own, and its pages of small blocks */
	LARGE = REGION / MW_BESIDE_LARGE, /* words of a region's large blocks, which come first */
	WORDS = 9 * 1024, /* of a region: pages of 4 KiB */
	LEAF = (1 << LEAF_SHIFT) / REGION * WORDS,
};
_Static_assert(LARGE + REGION / MW_BESIDE <= WORDS, "a word for each block");

struct branch {
	uint32_t *leaves[BRANCH]; /* each written once: release */
};

static struct branch *branches[ROOT]; /* each written once: release */
bool mw_side_index_full;

/* The word of an uncounted block: it tells p from the other addresses that share the word. */
static uint32_t uncounted(const void *p)
{
	return MW_REF_END | (uint32_t)((uintptr_t)p % MW_BESIDE_LARGE);
}

/* The word for p; NULL: its leaf isn't there. */
static uint32_t *word_of_block(const void *p, size_t usable)
{
	uintptr_t at = (uintptr_t)p;
	struct branch *b;
	uint32_t *leaf;

	if (at >> MW_ADDRESS_BITS)
		return NULL;
	b = __atomic_load_n(&branches[at >> BRANCH_SHIFT], __ATOMIC_ACQUIRE);
	leaf = b ? __atomic_load_n(&b->leaves[(at >> LEAF_SHIFT) % BRANCH], __ATOMIC_ACQUIRE) : NULL;
	if (!leaf)
		return NULL;
	leaf += at % (1 << LEAF_SHIFT) / REGION * WORDS;
	return &leaf[usable >= MW_BESIDE_LARGE ? at % REGION / MW_BESIDE_LARGE : LARGE + at % REGION / MW_BESIDE];
}

/* Makes *to point to new memory, unless it points to some. False: no memory. */
static bool point_to_memory(void **to, size_t bytes)
{
	void *none = NULL, *p;

	if (__atomic_load_n(to, __ATOMIC_ACQUIRE))
		return true;
	p = mw_arena_grow(bytes, MW_ARENA_RECORD);
	if (!p)
		return __atomic_load_n(to, __ATOMIC_ACQUIRE) != NULL;
	if (!__atomic_compare_exchange_n(to, &none, p, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		mw_arena_unmap(p, bytes, MW_ARENA_RECORD); /* another thread was first */
	return true;
}

static void add_leaf(uintptr_t at)
{
	struct branch **b = &branches[at >> BRANCH_SHIFT];

	if (point_to_memory((void **)b, sizeof(**b)))
		(void)point_to_memory(
			(void **)&__atomic_load_n(b, __ATOMIC_ACQUIRE)->leaves[(at >> LEAF_SHIFT) % BRANCH],
			LEAF * sizeof(uint32_t));
}

bool mw_side_index_put(const void *p, size_t usable, uint32_t ref)
{
	uint32_t *w = word_of_block(p, usable);

	if (!w && (uintptr_t)p >> MW_ADDRESS_BITS == 0) {
		add_leaf((uintptr_t)p);
		w = word_of_block(p, usable);
	}
	if (!w) {
		mw_set(&mw_side_index_full, true);
		return false;
	}
	mw_set(w, ref < MW_REF_END ? ref : uncounted(p));
	return true;
}

uint32_t mw_side_index_get(const void *p, size_t usable)
{
	const uint32_t *w = word_of_block(p, usable);
	uint32_t ref = w ? mw_get(w) : 0;

	if (ref < MW_REF_END)
		return ref;
	return ref == uncounted(p) ? MW_REF_END : 0;
}
