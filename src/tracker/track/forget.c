/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forget.c - see forget.h.
 *
 * Only a block's own thread touches its record, when it frees the block. So this waits until no thread
 * is inside the tracker, and lets none in: mw_life isn't MW_ON meanwhile, and each thread's permit is
 * an old one.
 */
#include "forget.h"

#include "dismiss.h"
#include "tracker/base/noticed.h"
#include "tracker/table/adopted.h"
#include "tracker/table/caller_cache.h"
#include "tracker/table/snapshot.h"
#include "tracker/stacks/stacks.h"

enum { AT_ONCE = 4096, TRIES = 40 }; /* a try takes 50 ms at most: retire.c */

static bool alone(void)
{
	for (int i = 0; i < TRIES; i++)
		if (mw_calls_left())
			return true;
	return false;
}

/* A part: the thread is busy for a moment only. */
static void some(struct mw_shard *t, uint32_t from, uint32_t to,
		 void (*each)(struct mw_shard *, const void *, struct mw_dismissed *))
{
	MW_GUARD(t);
	mw_shard_renew(t);
	for (uint32_t i = from; i < to; i++) {
		struct mw_dismissed d = { .record = mw_record_at(i), .ref = mw_ref(i) };
		const void *p = (const void *)(mw_record_block(mw_get(&d.record->where)) & ~(uintptr_t)15);

		if (!mw_record_is(mw_get(&d.record->where), p))
			continue;
		mw_hide_record(&d);
		each(t, p, &d);
	}
}

bool mw_each_alone(void (*each)(struct mw_shard *t, const void *p, struct mw_dismissed *),
		   void (*last)(void))
{
	struct mw_shard *t = mw_state();
	bool is;

	if (!t)
		t = mw_shard_now(); /* it began while nothing was tracked */
	if (!t)
		return false;
	mw_rebasing_lock();
	__atomic_store_n(&mw_life, MW_STARTING, __ATOMIC_SEQ_CST);
	mw_epoch_next();
	is = alone();
	if (is) {
		uint32_t end = mw_records_end();

		for (uint32_t i = MW_BATCH; i < end; i += AT_ONCE)
			some(t, i, end - i > AT_ONCE ? i + AT_ONCE : end, each);
		if (mw_shard_is_quiet(t)) /* the guard took the permit up */
			mw_set(&t->permit, MW_PERMIT_QUIET);
		mw_adopted_clear(mw_stacks_forget);
		mw_caller_forget_all();
		if (last)
			last();
	}
	__atomic_store_n(&mw_life, MW_ON, __ATOMIC_SEQ_CST);
	mw_rebasing_unlock();
	return is;
}

static void is_gone(struct mw_shard *t, const void *p, struct mw_dismissed *d)
{
	mw_count_hidden(t, p, d);
}

bool mw_forget_live(void)
{
	mw_set(&mw_tails_old, true);
	mw_tails_expect(!mw_get(&mw_sampled));
	return mw_each_alone(is_gone, NULL);
}
