/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - one 16-byte record for each live allocation.
 *
 * Type-stable: a record's memory is a record for ever, so readers scan all
 * of them without stopping anybody and without touching the app's memory.
 *
 *   where = address / 16 (44 bits) | code (1) | location (19)
 *   size, generation: 32 bits each
 *
 * Location 0 is none: such a record is free. Writing order is size and
 * generation, then where (release): a reader that sees the same live `where`
 * before and after reading them has a record that was true.
 *
 * Records are numbered; index 0 is none. What leads to one from elsewhere is
 * its ref, 16 times the index: where it lies, once its chunk is known.
 *
 * A free record says its own ref, instead of an address, so that who takes it
 * needn't compute it; with the code bit, so that it never looks like a block's
 * (mw_record_id). Free records are linked in batches of MW_BATCH at most, by
 * address: `next`. Each thread keeps a batch that it takes from and gives to,
 * and some full ones (shard.h). The rest wait in a lock-free stack, so that a
 * thread that allocates and one that frees trade them. Batches are linked by
 * their first records, which name the next batch's instead of their own ref:
 * that is known by then. Nothing ever walks a batch. A record never used is
 * all zeros.
 */
#ifndef MW_TABLE_RECORD_H
#define MW_TABLE_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

struct mw_record {
	union {
		uint64_t where; /* writers: release; readers: acquire */
		struct {
			uint32_t low, ref; /* free: MW_FREE, and its own or the next batch's */
		};
	};
	union {
		struct {
			uint32_t size, generation; /* live */
		};
		struct mw_record *next; /* free */
	};
};

enum {
	MW_CS_BITS = 19,            /* bits of a location's id in a record */
	MW_CHUNK_SHIFT = 16,        /* records in a chunk: 65,536, 1 MiB */
	MW_CHUNKS = 1 << 12,        /* one for every index of 28 bits */
	MW_BEFORE = 4,              /* records that can be read before a chunk's first: all zeros */
	MW_BATCH = 256              /* records that change hands at once */
};
#define MW_CS_MASK ((1u << MW_CS_BITS) - 1)
/* In `where`: the block holds a Ruby method's instructions, or its size is a huge one,
   so its free isn't the usual one. */
#define MW_CODE ((uint64_t)1 << MW_CS_BITS)
#define MW_REF_END 0xfff00000u /* the highest chunk isn't used, so that these refs say other things */
#define MW_FREE ((uint32_t)MW_CODE) /* what the low half of a free record's `where` is */
/* sizes from here on stand for an entry of the table of huge sizes */
#define MW_SIZE_HUGE 0xfffff000u

/*
 * It is where the chunk would begin if all lay in one row: a ref more is the record.
 * Each changes once, from the first chunk's place to its own: release.
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
	return (struct mw_record *)(__atomic_load_n(&mw_chunks[i >> MW_CHUNK_SHIFT], __ATOMIC_ACQUIRE) +
				    mw_ref(i));
}

/*
 * The same for a ref that may be garbage: of a chunk that isn't there it leads into the
 * first, of any other perhaps between two records, or just past the last. All that can
 * be read; whether it is a block's record, mw_record_is says.
 */
MW_INLINE struct mw_record *mw_record_guess(uintptr_t ref)
{
	return (struct mw_record *)(__atomic_load_n(&mw_chunks[ref >> (MW_CHUNK_SHIFT + 4)],
						    __ATOMIC_ACQUIRE) +
				    ref);
}

/* What a guessed one says. */
MW_INLINE uint64_t mw_record_guess_where(const void *r)
{
	uint64_t where;

	memcpy(&where, r, sizeof(where));
	return where;
}

/* p is a multiple of 16, and below 2^48. */
MW_INLINE uint64_t mw_record_pack(const void *p, uint32_t cs)
{
	return (uint64_t)(uintptr_t)p << (MW_CS_BITS + 1 - 4) | cs;
}

MW_INLINE bool mw_record_live(uint64_t where)
{
	return (where & MW_CS_MASK) != 0;
}

/* The location, if the record is p's and its code bit isn't set; else MW_CODE or more. */
MW_INLINE uint64_t mw_record_id(uint64_t where, const void *p)
{
	return where ^ mw_record_pack(p, 0);
}

/* The block's address, in whose low 4 bits lies something else; of a free record, garbage. */
MW_INLINE uintptr_t mw_record_block(uint64_t where)
{
	return (uintptr_t)(where >> (MW_CS_BITS + 1 - 4));
}

/* Is it p's? */
MW_INLINE bool mw_record_is(uint64_t where, const void *p)
{
	return mw_record_id(where & ~MW_CODE, p) < MW_CODE && mw_record_live(where);
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

/* r isn't any block's from here on. */
MW_INLINE void mw_record_free(struct mw_record *r, uint32_t ref)
{
	mw_set(&r->low, MW_FREE);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* before its address is a ref, and its size a link */
	mw_set(&r->ref, ref);
}
/* The same, and it lies before `next` in its batch. */
MW_INLINE void mw_free_link(struct mw_record *r, uint32_t ref, struct mw_record *next)
{
	mw_record_free(r, ref);
	mw_set(&r->next, next);
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
