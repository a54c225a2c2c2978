/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generation.h - the clock of generations, which measures lifespans.
 *
 * In a Ruby process it is GC.count; else bytes allocated so far, in units of 256: 32 bits last for
 * a terabyte. Each thread adds its bytes to the shared clock 64 KiB at a time, a step. So threads
 * don't share a cache line at each call, and the clock is behind by up to a step per thread. A
 * shard keeps its bytes yet to be added less a step: the sign says when to add. The shared
 * clock is a step ahead for that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shard.h"

enum { MW_CLOCK_SHIFT = 8, MW_CLOCK_STEP = 64 * 1024 };

struct mw_clock {
	const uint32_t *now; /* address of Ruby's count; never NULL; release */
	uint32_t still;      /* `now` points to it before and after the VM */
	bool in_bytes;       /* no Ruby here; decided before main */
	bool asked; /* gc_count() gives the count, since it can't be read; see mw_generation */
	size_t (*gc_count)(void);
};
extern MW_HOT_STRUCT struct mw_clock mw_clock;
/* The shared clock plus a step, in bytes: relaxed adds. Alone in its cache line. */
extern MW_HIDDEN uint64_t mw_clock_bytes;

/* For callers that know that Ruby's count can be read, or stands still. */
MW_INLINE uint32_t mw_generation_read(void)
{
	return mw_get(__atomic_load_n(&mw_clock.now, __ATOMIC_ACQUIRE));
}

MW_INLINE uint32_t mw_generation_in_bytes(const struct mw_shard *t)
{
	return (uint32_t)((mw_get(&mw_clock_bytes) + (uint64_t)t->clock_due) >> MW_CLOCK_SHIFT);
}

/* t: the calling thread's state, or NULL. */
static inline uint32_t mw_generation(const struct mw_shard *t)
{
	if (mw_clock.in_bytes)
		return t ? mw_generation_in_bytes(t) :
			   (uint32_t)((mw_get(&mw_clock_bytes) - MW_CLOCK_STEP) >> MW_CLOCK_SHIFT);
	/* acquire: the count that is read, if it can be, is in `now` */
	return __atomic_load_n(&mw_clock.asked, __ATOMIC_ACQUIRE) ?
		       (uint32_t)mw_clock.gc_count() :
		       mw_generation_read();
}

/* Before t's first bytes: a new shard is all zeros. */
static inline void mw_generation_begin(struct mw_shard *t)
{
	if (!t->clock_due)
		t->clock_due = -MW_CLOCK_STEP;
}

/* Adds t's remaining bytes to the shared clock. Own thread. */
static inline void mw_generation_settle(struct mw_shard *t)
{
	mw_assert(t->clock_due + MW_CLOCK_STEP >= 0); /* the shared clock never goes back */
	mw_add(&mw_clock_bytes, (uint64_t)(t->clock_due + MW_CLOCK_STEP));
	t->clock_due = -MW_CLOCK_STEP;
}
