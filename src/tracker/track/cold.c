/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cold.c - calls that may go on, but for which something isn't at hand: the caller, a record, a slot. */
#include "admit.h"
#include "clocked.h"
#include "dismiss.h"
#include "sample.h"
#include "tracker/real/own_blocks.h"
#include "tracker/table/peak.h"
#include "tracker/table/sampled_blocks.h"
#include "tracker/stacks/stacks.h"

uint64_t mw_lost;

void mw_lose(uint32_t size)
{
	if (size >= MW_SIZE_HUGE && size != MW_SIZE_NONE)
		mw_size_release_huge(size);
	mw_add(&mw_lost, 1);
}

/* Not counted. */
static void *admit_unseen(struct mw_guard in, void *p, size_t n)
{
	(void)mw_lead(p, n, mw_usable_new(p, n), MW_TAIL_NONE);
	mw_leave(in);
	return p;
}

static __attribute__((noinline)) void look_for_peak(void)
{
	mw_quiet_enter();
	mw_peak_look_watched();
	mw_quiet_leave();
}

void *mw_admit_step(struct mw_guard in, void *p)
{
	uint64_t most = MW_STEP + mw_usable(p);

	mw_sample_step(in.t, p);
	mw_leave(in);
	mw_clocked_step(in.t);
	mw_own_free_left();
	if (mw_unlikely(mw_get(&mw_peak_watched)) && mw_peak_due(most))
		look_for_peak();
	return p;
}

static void *admitted(struct mw_guard in, void *p, size_t n)
{
	uint32_t part = n < MW_RATE_MOST ? (uint32_t)n : MW_RATE_MOST; /* a sample in any case */

	if (mw_clock.in_bytes ? mw_raise(&in.t->clock_due, n) : mw_sink(&in.t->step, part))
		return mw_admit_step(in, p);
	mw_leave(in);
	return p;
}

void *mw_admit_shared_counts(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t op,
			     uint64_t extra)
{
	struct mw_shard *t = in.t;
	uint32_t generation, id, size, ref;
	struct mw_record *r = NULL;

	if (mw_unlikely(mw_get(&mw_paused)))
		return admit_unseen(in, p, n);
	generation = mw_generation(t);
	id = mw_locate(t, caller);
	size = mw_size_encode(n);
	if (size != MW_SIZE_NONE)
		r = mw_spare_take(t, &ref);
	if (!mw_lead(p, n, mw_usable_new(p, n), r ? ref : MW_TAIL_NONE) && r) {
		mw_spare_give(t, r, ref);
		r = NULL;
	}
	if (r) {
		mw_record_fill(r, p, size, id | mw_flag_of(size), generation);
		mw_shared_alloc(id, n, 1); /* rare: usually its caller is cached by now */
		if (mw_get(&mw_events_on))
			mw_event(t, op, ref, n, id, extra);
		return admitted(in, p, n);
	}
	mw_lose(size);
	mw_leave(in);
	return p;
}

/* As mw_admit_with, for a block that may have no tail. */
static bool admit_led(struct mw_shard *t, void *p, size_t n, size_t usable, struct mw_caller *w,
		      uint32_t *ref)
{
	struct mw_record *r = t->spare;

	/* its ref, which it holds while it is free */
	if (!w || !r || !mw_lead(p, n, usable, r->ref))
		return false;
	*ref = mw_spare_pop(t, r);
	mw_record_fill(r, p, (uint32_t)n, w->id, mw_generation(t));
	mw_caller_alloc(w, n);
	return true;
}

void *mw_admit_cold(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t op, uint64_t extra)
{
	struct mw_shard *t = in.t;
	size_t usable = mw_usable_new(p, n);
	struct mw_caller *w;
	uint32_t ref;

	if (mw_unlikely(mw_get(&mw_paused)))
		return admit_unseen(in, p, n);
	w = mw_locate_fast(t, caller);
	if (!admit_led(t, p, n, usable, w, &ref))
		return mw_admit_shared_counts(in, p, n, caller, op, extra);
	if (mw_get(&mw_events_on))
		mw_event(t, op, ref, n, w->id, extra);
	return admitted(in, p, n);
}

/* The block at p is gone: releases its huge size, or forgets the Ruby code in it. */
void mw_unflag(const void *p, const struct mw_dismissed *d)
{
	if (d->size >= MW_SIZE_HUGE)
		mw_size_release_huge(d->size);
	else if (d->where & MW_CODE && !mw_sample_only(d->ref, d->where)) {
		mw_caller_forget((uintptr_t)p, d->size);
		mw_stacks_forget((uintptr_t)p);
	}
}

void mw_count_hidden(struct mw_shard *t, const void *p, const struct mw_dismissed *d)
{
	uint32_t id = (uint32_t)d->where & MW_CS_MASK, life = mw_generation(t) - d->generation;
	uint64_t size = mw_size_decode(d->size);

	if (mw_unlikely(d->overrun)) /* first, while the live block keeps the location's id */
		mw_overrun_note(id, size);
	if (mw_unlikely(d->count))
		mw_shared_free(id, size * d->count, d->count, life);
	else
		mw_count_free(t, id, size, life);
	mw_unflag(p, d);
	mw_spare_give(t, d->record, d->ref);
}

bool mw_dismiss(struct mw_shard *t, const void *p)
{
	struct mw_dismissed d;
	bool known;

	MW_GUARD(t);
	known = mw_hide(p, &d);
	if (known && mw_get(&mw_events_on))
		mw_event_free(t, p, d.ref, mw_size_decode(d.size));
	if (known)
		mw_count_hidden(t, p, &d);
	return known;
}
