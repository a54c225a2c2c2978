/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - one 16-byte record for each live allocation.
 *
 * Type-stable: a record's memory is a record for ever, so readers scan all
 * of them without stopping anybody and without touching the app's memory.
 *
 *   where = address / 16 (44 bits) | code (1) | location (19)
 *   what  = size (32) | generation (32)
 *
 * A free record has where == 0. Writing order is what, then where (release):
 * a reader that sees the same non-zero `where` before and after reading
 * `what` has a record that was true.
 *
 * Index 0 is no record. Free records are linked in batches of MW_BATCH at
 * most: `what` of each names the next of its batch in the low half; the
 * first one's high half names the next batch. Each thread keeps a batch that
 * it takes from and gives to, and some full ones (thread.h). The rest wait
 * in a lock-free stack, so that a thread that allocates and one that frees
 * trade them. Nothing ever walks a batch.
 */
#ifndef MW_TABLE_RECORD_H
#define MW_TABLE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "own.h"

struct mw_record {
	uint64_t where; /* writers: release; readers: acquire */
	uint64_t what;
};

enum {
	MW_CS_BITS = 19,            /* bits of a location's id in a record */
	MW_CHUNK_SHIFT = 16,        /* records in a chunk: 65,536, 1 MiB */
	MW_CHUNKS = 1 << 16,        /* one for every index of 32 bits */
	MW_BATCH = 256              /* records that change hands at once */
};
#define MW_CS_MASK ((1u << MW_CS_BITS) - 1)
#define MW_CODE ((uint64_t)1 << MW_CS_BITS) /* the block holds a Ruby method's instructions */
/* sizes from here on stand for an entry of the table of huge sizes */
#define MW_SIZE_HUGE 0xfffff000u

extern MW_HIDDEN struct mw_record *mw_chunks[MW_CHUNKS]; /* each written once: release */
extern bool mw_records_full; /* relaxed: some block found no record */

MW_INLINE struct mw_record *mw_record_at(uint32_t i)
{
	return &__atomic_load_n(&mw_chunks[i >> MW_CHUNK_SHIFT], __ATOMIC_ACQUIRE)
		[i & ((1u << MW_CHUNK_SHIFT) - 1)];
}

/* The same for an index that may be garbage: NULL if there is none such. */
MW_INLINE struct mw_record *mw_record_if(uint32_t i)
{
	struct mw_record *chunk = __atomic_load_n(&mw_chunks[i >> MW_CHUNK_SHIFT], __ATOMIC_ACQUIRE);

	return mw_likely(chunk != NULL) ? &chunk[i & ((1u << MW_CHUNK_SHIFT) - 1)] : NULL;
}

MW_INLINE uint64_t mw_where_of(const void *p, uint32_t cs)
{
	return ((uint64_t)(uintptr_t)p >> 4) << (MW_CS_BITS + 1) | cs;
}

/* Is it p's? Never for a free record: no block is at address 0. */
MW_INLINE bool mw_record_is(uint64_t where, const void *p)
{
	return where >> (MW_CS_BITS + 1) == (uint64_t)(uintptr_t)p >> 4;
}

/*
 * The first record of a batch, or 0: no memory; *fresh: it is not linked,
 * but the first of MW_BATCH records in a row that were never used. Lock-free,
 * async-signal-safe, as are the others.
 */
uint32_t mw_batch_take(bool *fresh);
/* Gives a batch back by its first record. */
void mw_batch_give(uint32_t first);
/* One record, for threads that keep none: taken out of a batch, or 0. */
uint32_t mw_record_take(void);

/* Of a free record. */
MW_INLINE uint32_t mw_free_next(uint32_t i)
{
	return (uint32_t)mw_get(&mw_record_at(i)->what);
}
MW_INLINE void mw_free_link(struct mw_record *r, uint32_t next, uint32_t batch)
{
	mw_set(&r->what, (uint64_t)batch << 32 | next);
}

/* One past the highest index handed out so far. */
uint32_t mw_records_end(void);
/*
 * The first record of p's with an index from `from` to before `to`, or 0.
 * Any `from` and `to` do: only records that were ever handed out are looked
 * at, each for about a nanosecond.
 */
uint32_t mw_record_search(const void *p, uint64_t from, uint64_t to);

/*
 * Sizes of 4 GiB and more. encode returns what goes into the record, or
 * UINT32_MAX if 4095 such blocks live already; decode is its inverse for a
 * record that is live; release must follow the block's free.
 */
uint32_t mw_size_encode_huge(uint64_t size);
uint64_t mw_size_decode_huge(uint32_t field);
void mw_size_release_huge(uint32_t field);

#define MW_SIZE_NONE UINT32_MAX

MW_INLINE uint32_t mw_size_encode(uint64_t size)
{
	return mw_likely(size < MW_SIZE_HUGE) ? (uint32_t)size : mw_size_encode_huge(size);
}

MW_INLINE uint64_t mw_size_decode(uint32_t field)
{
	return mw_likely(field < MW_SIZE_HUGE) ? field : mw_size_decode_huge(field);
}

#endif
