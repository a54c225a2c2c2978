/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forget.c - see forget.h.
 *
 * Only a block's own thread touches its record, when it frees the block: it needs no care. So this waits until no thread
 * is inside the tracker, and lets none in by a permit: mw_life isn't MW_ON meanwhile, and each thread's permit is an old
 * one. Only start.c takes a new one up, in a thread that is busy and then asks for mw_life. So does a thread without a
 * permit: shared.c, mw_hide. It makes no record then, and hides its block's by compare-and-swap, as `each` does: whoever
 * hides a record counts it, and gives it back.
 */
#include "forget.h"

#include "dismiss.h"
#include "tracker/base/noticed.h"
#include "tracker/table/adopted.h"
#include "tracker/table/caller_cache.h"
#include "tracker/table/snapshot.h"
#include "tracker/stacks/stacks.h"

enum { AT_ONCE = 4096, ALONE_MS = 2000 };

/* Until every call under way sees mw_life, and none goes on by a permit. */
static bool alone(void)
{
	/* whoever takes up a permit that is still the present one has left; then no permit is, and nobody takes one up */
	if (!mw_calls_left(ALONE_MS))
		return false;
	mw_epoch_next();
	return mw_permits_left(ALONE_MS);
}

/* A part: the thread is busy for a moment only. */
static void some(struct mw_shard *t, uint32_t from, uint32_t to,
		 void (*each)(struct mw_shard *, const void *, struct mw_dismissed *))
{
	MW_GUARD(t);
	mw_shard_renew(t);
	for (uint32_t i = from; i < to; i++) {
		struct mw_dismissed d = { .record = mw_record_at(i), .ref = mw_ref(i) };
		const void *p;

		d.where = __atomic_load_n(&d.record->where, __ATOMIC_ACQUIRE);
		d.size = mw_get(&d.record->size);
		p = (const void *)(mw_record_block(d.where) & ~(uintptr_t)15);
		if (mw_record_is(d.where, p))
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
	__atomic_store_n(&mw_life, MW_CHANGING, __ATOMIC_SEQ_CST);
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
	if (mw_hide_once(p, d))
		mw_count_hidden(t, p, d);
}

bool mw_forget_live(void)
{
	mw_set(&mw_tails_old, true);
	mw_tails_expect(!mw_get(&mw_sampled));
	return mw_each_alone(is_gone, NULL);
}
