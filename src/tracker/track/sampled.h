/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampled.h - while allocations are sampled: a few blocks are noted, and stand for all.
 *
 * A thread counts its bytes down. Only the allocation that takes the counter below zero looks further: it may be a
 * sample (sample.h: each byte is as likely as any other). A sample has a record and its weight (sampled_blocks.h), and
 * counts at its location as that many blocks. All other blocks have no record and no tail. A free reads one byte
 * (noticed.h), and goes on.
 *
 *   exact    every block is counted. The counters of threads are 0 or what was left of them, below MW_STEP
 *   sampled  the limits in mw_least are such that no call goes the exact way
 *
 * A process may go from one to the other. Blocks from before have no tail, or one that leads nowhere (mw_unseen).
 *
 * Locks: none. mw_counts_exactly, mw_counts_sample: one thread at a time, in quiet, with its state; in no signal handler.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracker/base/noticed.h"
#include "tracker/table/shard.h"

struct mw_alloc_call;

/*
 * The calls that can't go the exact way: from so many bytes on, and frees below this address. While blocks are counted
 * exactly, these are the checks for a huge size and for NULL. While allocations are sampled, they are all calls. Relaxed.
 */
struct mw_least {
	size_t malloc, calloc, realloc; /* bytes; realloc's less 1. Or 0 */
	uintptr_t free;                 /* 1, or UINTPTR_MAX */
};
extern MW_HOT_STRUCT struct mw_least mw_least;

/*
 * Four instructions: may this allocation of n bytes go on without a look? If so it is counted. Any thread. Where
 * allocations aren't sampled it says false for n >= MW_STEP: no counter is as large. In own threads it is always false.
 */
MW_INLINE bool mw_sampled_passes(size_t n)
{
	struct mw_shard *t = mw_self;

	if (mw_likely(!mw_spends(&t->unsampled, n)))
		return true;
	mw_set(&t->unsampled, mw_get(&t->unsampled) + n);
	return false;
}

/* The allocation of p took the counter to zero or below. t is busy. */
void mw_sampled_step(struct mw_shard *t, void *p, size_t n, uintptr_t caller);

/* From here on every block is counted. */
void mw_counts_exactly(void);
/*
 * From here on allocations are sampled. Of the live blocks each stays as a sample by chance, so that the sums stay
 * what they were, about. False: a thread within the tracker doesn't get on, and nothing is changed. rate: mean bytes
 * from sample to sample; 0: that of the stacks, or 512 KiB without any.
 */
bool mw_counts_sample(uint64_t rate);
/* Bytes from sample to sample now. */
uint64_t mw_counts_rate(void);
