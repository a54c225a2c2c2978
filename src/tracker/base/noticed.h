/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * noticed.h - a filter of the blocks whose free must be noticed while allocations are sampled.
 *
 * A byte for each 16 bytes of addresses, modulo MW_NOTICED_BYTES * 16, counts those blocks there. Most bytes are 0,
 * so most frees read one byte and go on. Neighbours in memory are neighbours here: a loop of frees touches few
 * cache lines. A byte that reached 255 stays there.
 *
 * These blocks are in it: samples (sampled_blocks.h), code without a record (adopted.h), and blocks that the real
 * allocator doesn't know (real/own_large.h). Any thread, also in a signal handler. No locks. Relaxed: the thread that
 * frees a block has synchronised with the one that put it in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/sys/compiler.h"

/*
 * Blocks may live that were never counted, though no thread was quiet: from before the start in a running process, or
 * from when allocations were sampled. Relaxed; once true, it stays.
 */
extern MW_HIDDEN bool mw_unseen;
extern MW_HIDDEN bool mw_sampled; /* relaxed: allocations are sampled now (tracker/track/sampled.h) */

enum { MW_NOTICED_BYTES = 1 << 15 };
extern MW_HIDDEN uint8_t mw_noticed[MW_NOTICED_BYTES];

MW_INLINE uint8_t *mw_noticed_at(const void *p)
{
	return &mw_noticed[(uintptr_t)p >> 4 & (MW_NOTICED_BYTES - 1)];
}

/* May p be one of them? False: it isn't. */
MW_INLINE bool mw_noticed_has(const void *p)
{
	return __atomic_load_n(mw_noticed_at(p), __ATOMIC_RELAXED) != 0;
}

/* A block may be put in twice; each needs its removal. */
void mw_noticed_add(const void *p);
void mw_noticed_remove(const void *p);
