/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pages.h"

#include "shared/sys/sys.h"

enum { ENTRIES = 1 << MW_MAP_LEAF };
#define ENTRIES_BYTES ((size_t)MW_MAP_LEAVES * ENTRIES * sizeof(struct mw_map_entry))
#define SLOTS_BYTES (sizeof(uint64_t) << MW_MAP_SLOTS)
#define KEYS_BYTES ((size_t)MW_MAP_LEAVES * sizeof(uint64_t))

_Static_assert(MW_MAP_LEAVES < 1 << MW_MAP_NUMBER, "a key has each leaf's number");
_Static_assert(MW_MAP_LEAVES <= (1 << MW_MAP_SLOTS) / 2, "the hash table has free slots");
/* pages of 4 KiB and more: bits that are left for a leaf's address */
_Static_assert(64 - 12 - MW_MAP_LEAF + MW_MAP_NUMBER <= 64, "a key has any address");

bool mw_map_pages_make(struct mw_map_pages *p)
{
	*p = (struct mw_map_pages){ .entries = mw_map_memory(ENTRIES_BYTES),
				    .slots = mw_map_memory(SLOTS_BYTES),
				    .keys = mw_map_memory(KEYS_BYTES),
				    .shift = (unsigned)__builtin_ctzl(mw_page_size()) };
	return p->entries && p->slots && p->keys;
}

void mw_map_pages_free(struct mw_map_pages *p)
{
	mw_map_memory_free(p->entries, ENTRIES_BYTES);
	mw_map_memory_free(p->slots, SLOTS_BYTES);
	mw_map_memory_free(p->keys, KEYS_BYTES);
	p->entries = NULL;
	p->slots = p->keys = NULL;
}

struct mw_map_entry *mw_map_pages_add(struct mw_map_pages *p, uintptr_t at)
{
	uint64_t leaf = mw_map_leaf(p, at), *slot = mw_map_slot(p, leaf);

	if (!*slot) {
		if (p->n == MW_MAP_LEAVES) {
			p->full = true;
			return NULL;
		}
		*slot = leaf << MW_MAP_NUMBER | (p->n + 1);
		p->keys[p->n++] = *slot;
	}
	return mw_map_in_leaf(p, *slot, at);
}

/* --- by address ------------------------------------------------------------------------- */

static void sift_key(uint64_t *v, uint32_t at, uint32_t n)
{
	for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
		uint64_t t = v[at];

		child += child + 1 < n && v[child] < v[child + 1];
		if (t >= v[child])
			return;
		v[at] = v[child];
		v[child] = t;
	}
}

/* In place: qsort(3) may allocate. */
void mw_map_pages_sort(struct mw_map_pages *p)
{
	for (uint32_t i = p->n / 2; i--;)
		sift_key(p->keys, i, p->n);
	for (uint32_t n = p->n; n > 1;) {
		uint64_t t = p->keys[0];

		p->keys[0] = p->keys[--n];
		p->keys[n] = t;
		sift_key(p->keys, 0, n);
	}
}

/* The first key of a leaf behind `leaf`; p->n: none. */
static uint32_t behind(const struct mw_map_pages *p, uint64_t leaf)
{
	uint32_t low = 0, high = p->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->keys[middle] >> MW_MAP_NUMBER <= leaf)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct mw_map_entry *mw_map_pages_search(const struct mw_map_pages *p, uintptr_t *at, uintptr_t end)
{
	uint64_t leaf = mw_map_leaf(p, *at), key = *mw_map_slot(p, leaf);

	while (*at < end) {
		uint32_t next;

		for (; key && *at < end && mw_map_leaf(p, *at) == leaf; *at += (uintptr_t)1 << p->shift) {
			struct mw_map_entry *e = mw_map_in_leaf(p, key, *at);

			if (e->flags & MW_ENTRY_KNOWN)
				return e;
		}
		if (mw_map_leaf(p, end - 1) == leaf || (next = behind(p, leaf)) == p->n)
			return NULL;
		key = p->keys[next];
		leaf = key >> MW_MAP_NUMBER;
		*at = (uintptr_t)leaf << (p->shift + MW_MAP_LEAF);
	}
	return NULL;
}
