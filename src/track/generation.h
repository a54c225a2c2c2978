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

#include <stdint.h>

#include "../table/thread.h"

enum mw_clock_mode {
	MW_CLOCK_BYTES, /* no Ruby here */
	MW_CLOCK_STILL, /* Ruby, but its VM is not up yet, or gone */
	MW_CLOCK_CALL,  /* rb_gc_count() */
	MW_CLOCK_HOOK   /* counted by a GC event hook */
};
enum { MW_CLOCK_SHIFT = 8, MW_CLOCK_STEP = 64 * 1024 };

struct mw_clock {
	uint32_t mode;           /* enum mw_clock_mode; changes twice in a process */
	uint32_t count;          /* STILL, HOOK: the generation */
	size_t (*gc_count)(void);
	uint64_t bytes __attribute__((aligned(64)));
};
extern MW_HIDDEN struct mw_clock mw_clock;

MW_INLINE uint32_t mw_generation(const struct mw_thread *t)
{
	switch (mw_get(&mw_clock.mode)) {
	case MW_CLOCK_CALL:
		return (uint32_t)mw_clock.gc_count();
	case MW_CLOCK_BYTES:
		return (uint32_t)((mw_get(&mw_clock.bytes) + (t ? t->clock_due : 0)) >> MW_CLOCK_SHIFT);
	default:
		return mw_get(&mw_clock.count);
	}
}

MW_INLINE void mw_generation_add(struct mw_thread *t, uint64_t bytes)
{
	if (mw_get(&mw_clock.mode) != MW_CLOCK_BYTES)
		return;
	t->clock_due += bytes;
	if (mw_unlikely(t->clock_due >= MW_CLOCK_STEP)) {
		mw_add(&mw_clock.bytes, t->clock_due);
		t->clock_due = 0;
	}
}

#endif
