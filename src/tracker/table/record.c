/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c - the memory of records, their free batches, and huge sizes; see record.h. */
#include "record.h"

uintptr_t mw_chunks[MW_CHUNKS];
bool mw_records_full;

/*
 * The stack of batches. Low half: index of the first record of the top batch. High half: a tag
 * that changes with every push and pop. So a compare-and-swap fails if the top was away in
 * between.
 */
static uint64_t pool __attribute__((aligned(64)));
static uint64_t fresh_at __attribute__((aligned(64))) = MW_BATCH; /* next index never used */

enum {
	CHUNK = sizeof(struct mw_record) << MW_CHUNK_SHIFT,
	BEFORE = MW_BEFORE * sizeof(struct mw_record),
	CHUNK_ALL = BEFORE + CHUNK + sizeof(struct mw_record) /* one more record: mw_record_guess */
};
static uintptr_t first_chunk; /* written by mw_records_init only */

/* Where a new chunk's records begin; 0: no memory. */
static uintptr_t new_chunk(void)
{
	char *p = mw_arena_grow(CHUNK_ALL, MW_ARENA_RECORD);

	return p ? (uintptr_t)(p + BEFORE) : 0;
}

bool mw_records_init(void)
{
	first_chunk = new_chunk();
	for (size_t c = 0; first_chunk && c < MW_CHUNKS; c++)
		mw_chunks[c] = first_chunk - c * CHUNK;
	return first_chunk != 0;
}

static bool chunk_ready(uint64_t i)
{
	uint64_t c = i >> MW_CHUNK_SHIFT;
	uintptr_t none = first_chunk - c * CHUNK, chunk;

	_Static_assert((MW_CHUNKS - 1u) << (MW_CHUNK_SHIFT + 4) == MW_REF_END, "");
	if (c >= MW_CHUNKS - 1)
		return false;
	if (!c || __atomic_load_n(&mw_chunks[c], __ATOMIC_ACQUIRE) != none)
		return true;
	chunk = new_chunk();
	if (!chunk) /* another thread may have got the last memory */
		return __atomic_load_n(&mw_chunks[c], __ATOMIC_ACQUIRE) != none;
	if (!__atomic_compare_exchange_n(&mw_chunks[c], &none, chunk - c * CHUNK, false,
					 __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		mw_arena_unmap((void *)(chunk - BEFORE), CHUNK_ALL,
			       MW_ARENA_RECORD); /* another thread was first */
	return true;
}

/* A batch of never used records in a row; 0: no memory. It never spans two chunks. */
static uint32_t take_fresh(void)
{
	uint64_t i = mw_get(&fresh_at);

	do {
		if (!chunk_ready(i)) {
			mw_set(&mw_records_full, true);
			return 0;
		}
	} while (!__atomic_compare_exchange_n(&fresh_at, &i, i + MW_BATCH, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return (uint32_t)i;
}

/* The same, but a part of a batch will do: threads share its memory. *n: how many. */
static uint32_t take_few(uint32_t *n)
{
	static uint64_t few_at; /* next index of the batch in parts; a whole number of batches: none left */
	uint64_t i = mw_get(&few_at), next;
	bool begins;

	do {
		begins = i % MW_BATCH == 0;
		next = begins ? take_fresh() : i;
		*n = MW_BATCH_FEW;
		if (!next)
			return 0;
		if (__atomic_compare_exchange_n(&few_at, &i, next + MW_BATCH_FEW, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return (uint32_t)next;
	} while (!begins);
	*n = MW_BATCH; /* another thread began one, too: this one isn't shared */
	return (uint32_t)next;
}

uint32_t mw_batch_take(bool few, uint32_t *fresh)
{
	uint64_t top = __atomic_load_n(&pool, __ATOMIC_ACQUIRE), next;

	*fresh = 0;
	do {
		if ((uint32_t)top == 0) {
			*fresh = MW_BATCH;
			return few ? take_few(fresh) : take_fresh();
		}
		/* stale if another thread took the batch: then the swap fails */
		next = mw_ref_index(mw_get(&mw_record_at((uint32_t)top)->ref));
		next |= ((top >> 32) + 1) << 32;
	} while (!__atomic_compare_exchange_n(&pool, &top, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return (uint32_t)top;
}

void mw_batch_give(uint32_t first)
{
	uint64_t top = mw_get(&pool), head;
	struct mw_record *r = mw_record_at(first);

	mw_assert(first < mw_records_end() && r->low == MW_FREE);
	do {
		mw_set(&r->ref, mw_ref((uint32_t)top));
		head = ((top >> 32) + 1) << 32 | first;
	} while (!__atomic_compare_exchange_n(&pool, &top, head, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

uint32_t mw_record_take(void)
{
	uint32_t fresh, i = mw_batch_take(false, &fresh), k;
	struct mw_record *r, *rest;

	if (!i)
		return 0;
	r = mw_record_at(i);
	if (fresh)
		for (k = 0; k < MW_BATCH; k++)
			mw_free_link(r + k, mw_ref(i + k), k + 1 < MW_BATCH ? r + k + 1 : NULL);
	rest = mw_get(&r->next);
	if (rest)
		mw_batch_give(mw_ref_index(mw_get(&rest->ref)));
	return i;
}

uint32_t mw_records_end(void)
{
	return (uint32_t)__atomic_load_n(&fresh_at, __ATOMIC_ACQUIRE);
}

uint32_t mw_record_search(const void *p, uint64_t from, uint64_t to)
{
	uint64_t end = mw_records_end();

	if (from < MW_BATCH)
		from = MW_BATCH;
	if (to > end)
		to = end;
	for (uint64_t i = from; i < to; i++)
		if (mw_unlikely(mw_record_is(mw_get(&mw_record_at((uint32_t)i)->where), p)))
			return (uint32_t)i;
	return 0;
}

/* --- huge sizes ------------------------------------------------------------ */

enum { HUGE_MAX = 4095 };
static uint64_t huge[HUGE_MAX]; /* bytes; 0: free; taken by compare-and-swap */

uint32_t mw_size_encode_huge(uint64_t size)
{
	for (uint32_t i = 0; i < HUGE_MAX; i++) {
		uint64_t none = 0;

		if (!mw_get(&huge[i]) && __atomic_compare_exchange_n(&huge[i], &none, size, false,
								     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return MW_SIZE_HUGE + i;
	}
	return MW_SIZE_NONE;
}

uint64_t mw_size_decode_huge(uint32_t field)
{
	mw_assert(field - MW_SIZE_HUGE < HUGE_MAX);
	return __atomic_load_n(&huge[field - MW_SIZE_HUGE], __ATOMIC_ACQUIRE);
}

void mw_size_release_huge(uint32_t field)
{
	mw_assert(field - MW_SIZE_HUGE < HUGE_MAX && mw_get(&huge[field - MW_SIZE_HUGE]) >= MW_SIZE_HUGE);
	__atomic_store_n(&huge[field - MW_SIZE_HUGE], 0, __ATOMIC_RELEASE);
}
