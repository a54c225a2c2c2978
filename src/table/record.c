/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record.h"

struct mw_record *mw_chunks[MW_CHUNKS];

/*
 * The stack of batches. Low half: index of the first record of the top
 * batch; high half: a tag that changes with every push and pop, so that a
 * compare-and-swap can't take a top that was away in between.
 * In a batch, `what` of each record holds the next record of the batch in
 * its low half; the first one's high half names the next batch.
 */
static uint64_t pool __attribute__((aligned(64)));
static uint64_t fresh __attribute__((aligned(64))) = MW_BATCH; /* next index never used */

static bool chunk_ready(uint64_t i)
{
	uint64_t c = i >> MW_CHUNK_SHIFT;
	size_t bytes = sizeof(struct mw_record) << MW_CHUNK_SHIFT;
	struct mw_record *none = NULL, *chunk;

	if (c >= MW_CHUNKS - 1) /* UINT32_MAX stays unused */
		return false;
	if (__atomic_load_n(&mw_chunks[c], __ATOMIC_ACQUIRE))
		return true;
	chunk = mw_own_map(bytes);
	if (!chunk)
		return false;
	if (!__atomic_compare_exchange_n(&mw_chunks[c], &none, chunk, false,
					 __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		mw_own_unmap(chunk, bytes); /* another thread was first */
	return true;
}

/* n never-used records in a row; a batch never spans two chunks. */
static uint32_t take_fresh(uint32_t *ids)
{
	uint64_t i = mw_get(&fresh);
	uint32_t k;

	do {
		if (!chunk_ready(i))
			return 0;
	} while (!__atomic_compare_exchange_n(&fresh, &i, i + MW_BATCH, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	/* downwards: the owner takes from the end, so memory is used upwards */
	for (k = 0; k < MW_BATCH; k++)
		ids[k] = (uint32_t)i + MW_BATCH - 1 - k;
	return MW_BATCH;
}

static uint32_t pop_batch(void)
{
	uint64_t top = __atomic_load_n(&pool, __ATOMIC_ACQUIRE), next;

	do {
		if ((uint32_t)top == 0)
			return 0;
		/* may be stale when another thread took it: then the swap fails */
		next = mw_get(&mw_record_at((uint32_t)top)->what) >> 32;
		next |= ((top >> 32) + 1) << 32;
	} while (!__atomic_compare_exchange_n(&pool, &top, next, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return (uint32_t)top;
}

uint32_t mw_records_take(uint32_t *ids, uint32_t n)
{
	uint32_t all[MW_BATCH], got = 0, i = pop_batch();

	while (i && got < MW_BATCH) {
		all[got++] = i;
		i = (uint32_t)mw_get(&mw_record_at(i)->what);
	}
	if (!got)
		got = take_fresh(all);
	if (got > n) {
		mw_records_give(all, got - n);
		for (i = 0; i < n; i++)
			ids[i] = all[got - n + i];
		return n;
	}
	for (i = 0; i < got; i++)
		ids[i] = all[i];
	return got;
}

void mw_records_give(const uint32_t *ids, uint32_t n)
{
	uint64_t top, head;
	uint32_t i;

	if (!n)
		return;
	for (i = 1; i < n; i++)
		mw_set(&mw_record_at(ids[i])->what, (uint64_t)(i + 1 < n ? ids[i + 1] : 0));
	top = mw_get(&pool);
	do {
		mw_set(&mw_record_at(ids[0])->what,
		       (top & UINT32_MAX) << 32 | (n > 1 ? ids[1] : 0));
		head = ((top >> 32) + 1) << 32 | ids[0];
	} while (!__atomic_compare_exchange_n(&pool, &top, head, true,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

uint32_t mw_records_end(void)
{
	return (uint32_t)__atomic_load_n(&fresh, __ATOMIC_ACQUIRE);
}

/* --- huge sizes ------------------------------------------------------------ */

enum { HUGE_MAX = 4095 };
static uint64_t huge[HUGE_MAX]; /* 0: free; claimed by compare-and-swap */

uint32_t mw_size_encode_huge(uint64_t size)
{
	for (uint32_t i = 0; i < HUGE_MAX; i++) {
		uint64_t none = 0;

		if (!mw_get(&huge[i]) &&
		    __atomic_compare_exchange_n(&huge[i], &none, size, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return MW_SIZE_HUGE + i;
	}
	return MW_SIZE_NONE;
}

uint64_t mw_size_decode_huge(uint32_t field)
{
	return __atomic_load_n(&huge[field - MW_SIZE_HUGE], __ATOMIC_ACQUIRE);
}

void mw_size_release_huge(uint32_t field)
{
	__atomic_store_n(&huge[field - MW_SIZE_HUGE], 0, __ATOMIC_RELEASE);
}
