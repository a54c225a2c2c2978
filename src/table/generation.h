/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generation.h - the clock that lifespans are measured with.
 *
 * In a Ruby process GC.count; else bytes allocated so far, in units of 256
 * so that 32 bits last for a terabyte. Each thread adds its bytes to the
 * shared clock 64 KiB at a time, a step: a clock behind by that much per thread
 * is what not sharing a cache line costs. What a thread has yet to add is kept
 * less a step, so that its sign says when; the shared clock has one too many.
 */
#ifndef MW_TABLE_GENERATION_H
#define MW_TABLE_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "shard.h"

enum { MW_CLOCK_SHIFT = 8, MW_CLOCK_STEP = 64 * 1024 };

struct mw_clock {
	const uint32_t *now; /* where Ruby's count is to be read; never NULL. Release: … */
	uint32_t still;      /* … what it points to before and after the VM */
	bool in_bytes;       /* no Ruby here; decided before main */
	bool asked;          /* by gc_count(), since it can't be read */
	size_t (*gc_count)(void);
};
extern MW_HOT_STRUCT struct mw_clock mw_clock;
/* The shared clock, and a step: relaxed adds. Alone in its line. */
extern MW_HIDDEN uint64_t mw_clock_bytes;

/* Where Ruby's count can be read, or is known to stand still. */
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
	return mw_get(&mw_clock.asked) ? (uint32_t)mw_clock.gc_count() : mw_generation_read();
}

/* Before t's first bytes: a new one is all zeros. */
static inline void mw_generation_begin(struct mw_shard *t)
{
	if (!t->clock_due)
		t->clock_due = -MW_CLOCK_STEP;
}

/* What t has yet to add is added. Own thread. */
static inline void mw_generation_settle(struct mw_shard *t)
{
	mw_add(&mw_clock_bytes, (uint64_t)(t->clock_due + MW_CLOCK_STEP));
	t->clock_due = -MW_CLOCK_STEP;
}

/* To be called only where the clock is in bytes. */
MW_INLINE void mw_generation_add(struct mw_shard *t, uint64_t bytes)
{
	if (mw_unlikely(mw_raise(&t->clock_due, bytes)))
		mw_generation_settle(t);
}

#endif
