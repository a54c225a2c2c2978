/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generation.h - the clock that lifespans are measured with.
 *
 * In a Ruby process GC.count; else bytes allocated so far, in units of 256
 * so that 32 bits last for a terabyte. Each thread adds its bytes to the
 * shared clock 64 KiB at a time: a clock behind by that much per thread is
 * what not sharing a cache line costs.
 */
#ifndef MW_TRACK_GENERATION_H
#define MW_TRACK_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "../table/thread.h"

enum { MW_CLOCK_SHIFT = 8, MW_CLOCK_STEP = 64 * 1024 };

struct mw_clock {
	bool in_bytes;              /* no Ruby here; decided before main */
	const uint32_t *now;        /* else where the count is to be read; or NULL: … */
	size_t (*gc_count)(void);   /* … ask. Changes twice: the VM comes up, and goes */
	uint32_t still;             /* what `now` points to before and after the VM */
	uint64_t bytes __attribute__((aligned(64)));
};
extern MW_HIDDEN struct mw_clock mw_clock;

/* now: mw_clock.now, as loaded once. */
MW_INLINE uint32_t mw_generation_at(const struct mw_thread *t, const uint32_t *now)
{
	if (mw_likely(now != NULL))
		return mw_get(now);
	if (mw_clock.in_bytes)
		return (uint32_t)((mw_get(&mw_clock.bytes) + (t ? t->clock_due : 0)) >> MW_CLOCK_SHIFT);
	return (uint32_t)mw_clock.gc_count();
}

MW_INLINE uint32_t mw_generation(const struct mw_thread *t)
{
	return mw_generation_at(t, __atomic_load_n(&mw_clock.now, __ATOMIC_ACQUIRE));
}

MW_INLINE void mw_generation_add(struct mw_thread *t, uint64_t bytes)
{
	if (!mw_clock.in_bytes)
		return;
	t->clock_due += bytes;
	if (mw_unlikely(t->clock_due >= MW_CLOCK_STEP)) {
		mw_add(&mw_clock.bytes, t->clock_due);
		t->clock_due = 0;
	}
}

#endif
