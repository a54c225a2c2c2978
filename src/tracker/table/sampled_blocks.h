/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampled_blocks.h - the live blocks that stand for others, while allocations are sampled or after that.
 *
 * Such a block has a record, but no tail: its address leads to the record here. It counts as `count` blocks
 * of its size. The free of one is noticed by the filter (noticed.h).
 *
 * A hash of addresses in buckets of a cache line; a block may be in either of two. A full pair sends the block to the
 * next set, twice as large. Sets are made on demand, and stay.
 *
 * A writer owns its entry: the allocating thread, then the one that frees the block, or that takes it out first. The
 * address goes in first (by compare-and-swap) and out last. Readers see an entry whose ref is 0 as none. Any thread, also
 * in a signal handler. No locks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mw_sampled_block {
	uint32_t ref;   /* its record's: record.h */
	uint32_t count; /* blocks that it stands for, 1 at least */
};

/* p is live, and isn't in a set. False: no memory. */
bool mw_sampled_put(const void *p, struct mw_sampled_block);
/* The same block's entry. False: p isn't in a set. */
bool mw_sampled_find(const void *p, struct mw_sampled_block *);
/* p is about to be free: takes it out. How many blocks it stood for; 0: it wasn't in a set. */
uint32_t mw_sampled_take(const void *p);
/* Blocks in the sets, about. */
uint32_t mw_sampled_live(void);
/* Calls f for each block. One that is freed meanwhile may be told, or not. */
void mw_sampled_each(void (*f)(const void *p, const struct mw_sampled_block *, void *ctx), void *ctx);
