/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - one 16-byte record for each live allocation.
 *
 * Type-stable: a record's memory is a record for ever. So readers scan all of them without
 * stopping a thread, and without touching the app's memory.
 *
 *   where = address / 16 (44 bits) | code (1) | location (19)
 *   size, generation: 32 bits each
 *
 * A record with location 0 is free. Writing order: size and generation, then where (release). A
 * reader that sees the same live `where` before and after reading them has a true record.
 *
 * Records are numbered; index 0 is none. A ref leads to a record: 16 times the index, its offset
 * once its chunk is known.
 *
 * A free record holds its own ref, instead of an address: the thread that takes the record
 * needn't compute it. Its code bit is set, so it never looks like a block's (mw_record_id).
 *  - Free records are linked in batches of MW_BATCH at most, by address: `next`. Nothing ever
 *    walks a batch.
 *  - Each shard keeps a batch that it takes from and gives to, and some full ones (shard.h). The
 *    rest are in a lock-free stack: so allocating and freeing threads trade them.
 *  - Batches are linked by their first records, which hold the next batch's ref instead of
 *    their own. Their own is known when the batch is taken.
 *  - A record never used is all zeros.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shared/sys/mw_assert.h"
#include "tracker/base/arena.h"

struct mw_record {
	union {
		uint64_t where; /* writers: release; readers: acquire */
		struct {
			uint32_t low, ref; /* free: MW_FREE, and its own or the next batch's ref */
		};
	};
	union {
		struct {
			uint32_t size, generation; /* live */
		};
		struct mw_record *next; /* free */
	};
};

/* Of an address, unless a program asks for a higher one. All 48 are in use on arm64, 47 on x86-64. */
enum { MW_ADDRESS_BITS = 48 };

enum {
	MW_CS_BITS = 19,            /* bits of a location's id in a record */
	MW_CHUNK_SHIFT = 16,        /* records in a chunk: 65,536, 1 MiB */
	MW_CHUNKS = 1 << 12,        /* one for every index of 28 bits */
	MW_BEFORE = 4,              /* readable records before a chunk's first: all zeros */
	MW_BATCH = 256,             /* records handed over at once */
	MW_BATCH_FEW = 16           /* the same to a thread that has few */
};
#define MW_CS_MASK ((1u << MW_CS_BITS) - 1)
/* In `where`: the block holds a Ruby method's instructions, or its size is huge. Its free isn't
   the usual one. */
#define MW_CODE ((uint64_t)1 << MW_CS_BITS)
#define MW_REF_END 0xfff00000u /* the highest chunk isn't used: its refs have other meanings */
#define MW_FREE ((uint32_t)MW_CODE) /* low half of a free record's `where` */
/* sizes from here on stand for an entry of the table of huge sizes */
#define MW_SIZE_HUGE 0xfffff000u

/*
 * A chunk's entry is the address that index 0 had if all chunks lay in one row with this one:
 * entry + ref is the record. Each entry changes once, from the first chunk's to its own: release.
 */
extern MW_HIDDEN uintptr_t mw_chunks[MW_CHUNKS];
/* Before anything else; false: no memory. */
bool mw_records_init(void);
extern bool mw_records_full; /* relaxed: some block found no record */

MW_INLINE uint32_t mw_ref(uint32_t index)
{
	return index << 4;
}
MW_INLINE uint32_t mw_ref_index(uint32_t ref)
{
	return ref >> 4;
}

MW_INLINE struct mw_record *mw_record_at(uint32_t i)
{
	mw_assert(i && i < mw_ref_index(MW_REF_END));
	return (struct mw_record *)(__atomic_load_n(&mw_chunks[i >> MW_CHUNK_SHIFT], __ATOMIC_ACQUIRE) +
				    mw_ref(i));
}

/*
 * The same for a ref that may be garbage. If its chunk isn't there, the result lies in the first
 * chunk. Else it may lie between two records, or just past the last. All of that is readable;
 * mw_record_is tells if it is a block's record.
 */
MW_INLINE struct mw_record *mw_record_guess(uintptr_t ref)
{
	return (struct mw_record *)(__atomic_load_n(&mw_chunks[ref >> (MW_CHUNK_SHIFT + 4)],
						    __ATOMIC_ACQUIRE) +
				    ref);
}

/* The `where` of a guessed record. */
MW_INLINE uint64_t mw_record_guess_where(const void *r)
{
	uint64_t where;

	memcpy(&where, r, sizeof(where));
	return where;
}

/* p is a multiple of 16, and has MW_ADDRESS_BITS. */
MW_INLINE uint64_t mw_record_pack(const void *p, uint32_t cs)
{
	return (uint64_t)(uintptr_t)p << (MW_CS_BITS + 1 - 4) | cs;
}

MW_INLINE bool mw_record_live(uint64_t where)
{
	return (where & MW_CS_MASK) != 0;
}

/* The location if the record is p's and its code bit isn't set; else MW_CODE or more. */
MW_INLINE uint64_t mw_record_id(uint64_t where, const void *p)
{
	return where ^ mw_record_pack(p, 0);
}

/* The block's address, with other bits in its low 4; garbage for a free record. */
MW_INLINE uintptr_t mw_record_block(uint64_t where)
{
	return (uintptr_t)(where >> (MW_CS_BITS + 1 - 4));
}

/* Sets the code bit of a live block's record; returns what `where` was. Another thread may read it. */
static inline uint64_t mw_code_flag(uint32_t ref)
{
	struct mw_record *r = mw_record_at(mw_ref_index(ref));
	uint64_t is = mw_get(&r->where);

	return is & MW_CODE ? is : __atomic_fetch_or(&r->where, MW_CODE, __ATOMIC_RELAXED);
}

/* Is it p's? */
MW_INLINE bool mw_record_is(uint64_t where, const void *p)
{
	return mw_record_id(where & ~MW_CODE, p) < MW_CODE && mw_record_live(where);
}

/*
 * The first record of a batch, or 0: no memory. *fresh: so many in a row were never used, and the batch
 * is not linked; 0: it is linked. few: MW_BATCH_FEW never used will do, and leave the rest of their
 * memory to other threads. This and the next two are lock-free and async-signal-safe.
 */
uint32_t mw_batch_take(bool few, uint32_t *fresh);
/* Gives a batch back by its first record. */
void mw_batch_give(uint32_t first);
/* One record, for threads without a shard: taken out of a batch; or 0: no memory. */
uint32_t mw_record_take(void);

/* Makes r free: it is no block's from here on. */
MW_INLINE void mw_record_free(struct mw_record *r, uint32_t ref)
{
	mw_set(&r->low, MW_FREE);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* before ref and link overwrite the rest */
	mw_set(&r->ref, ref);
}
/* The same, and links it before `next` in its batch. */
MW_INLINE void mw_free_link(struct mw_record *r, uint32_t ref, struct mw_record *next)
{
	mw_record_free(r, ref);
	mw_set(&r->next, next);
}

/* One past the highest index handed out so far. */
uint32_t mw_records_end(void);
/*
 * The first record of p with an index from `from` to before `to`, or 0. Any `from` and `to` are
 * valid. Reads only records that were ever handed out, in about a nanosecond each.
 */
uint32_t mw_record_search(const void *p, uint64_t from, uint64_t to);

/*
 * Sizes from MW_SIZE_HUGE on. encode returns the record's field, or UINT32_MAX if 4095 of these
 * blocks live already. decode is its inverse for a live record. release must follow the block's
 * free.
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
