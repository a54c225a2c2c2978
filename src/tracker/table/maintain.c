/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maintain.c - decides when the table of locations grows, and when it is swept.
 *
 * One thread at a time does this, and none waits for its turn: mw_maintenance is a try-lock. Only
 * fork waits for it, for a limited time (tracker/process/fork.c).
 *
 * A sweep (retire.c) is due if the table is half full, or a path found no room. In either case
 * many more locations must have been wanted since the last sweep. A full table rests in between.
 * Each call does one step of a sweep.
 */
#include "maintain.h"

#include <pthread.h>

#include "tracker/base/quick.h"
#include "shared/sys/mw_assert.h"
#include "shared/sys/ranks.h"
#include "shard.h"

static uint32_t buckets = MW_TABLE_BUCKETS_FIRST; /* written under maintenance */
static bool growing;          /* under maintenance */
static uint32_t maintenance;
static __thread bool maintains __attribute__((tls_model("initial-exec")));

bool mw_maintenance_try(void)
{
	if (mw_get(&maintenance))
		return false;
	maintains = true; /* set before the lock, cleared after it: see mw_reading_mine */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!__atomic_exchange_n(&maintenance, 1, __ATOMIC_ACQUIRE)) {
		mw_rank_took(MW_RANK_MAINTENANCE);
		return true;
	}
	maintains = false;
	return false;
}

static void end_maintenance(void)
{
	__atomic_store_n(&maintenance, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	maintains = false;
}

void mw_maintenance_end(void)
{
	mw_assert(maintains && mw_get(&maintenance));
	mw_rank_left(MW_RANK_MAINTENANCE);
	end_maintenance();
}

bool mw_maintenance_mine(void)
{
	return maintains;
}

void mw_maintenance_after_fork(bool held)
{
	if (!held) {
		mw_retire_give_up();
		if (growing) /* the child finds liburcu's lock on growth held for ever */
			mw_set(&buckets, (uint32_t)MW_TABLE_BUCKETS_MAX);
	}
	growing = false;
	mw_rank_lost(MW_RANK_MAINTENANCE);
	end_maintenance();
}

static void grow_buckets(void)
{
	uint32_t n = mw_get(&buckets) * 4;

	if (!mw_memory_is_there())
		return;
	mw_set(&buckets, n > MW_TABLE_BUCKETS_MAX ? (uint32_t)MW_TABLE_BUCKETS_MAX : n);
	growing = true;
	mw_callsites_resize(mw_get(&buckets));
	growing = false;
}

void mw_callsites_maintain(void)
{
	static uint32_t swept; /* under maintenance: `wanted` at the last sweep */
	static uint64_t rest;  /* ms: no sweep before; all callers of a full table ask for one */
	uint32_t n = mw_callsites_used(), wanted = mw_callsites_wanted(), max = mw_callsites_max();
	bool crowded = n > 2 * mw_get(&buckets) && mw_get(&buckets) < MW_TABLE_BUCKETS_MAX;
	bool texts = mw_get(&mw_texts_full), full = n >= max - max / 128 || texts;
	bool due = (n > max / 2 || texts) && wanted - mw_get(&swept) > max / 16 &&
		   !(full && mw_quick_ms() < mw_get(&rest));
	struct mw_shard *t = mw_state();
	int cancel;

	if (!(crowded || due || mw_retire_under_way()) || !mw_maintenance_try())
		return;
	/* growth calls libc, which has cancellation points, and allocates for the tracker */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (t)
		mw_shard_quiet_enter(t);
	if (crowded)
		grow_buckets();
	if (due && !mw_retire_under_way()) {
		mw_set(&swept, wanted);
		mw_retire_begin(n > max / 4 * 3 || texts);
	}
	if (mw_retire_under_way() && mw_retire_step()) {
		mw_set(&mw_texts_full, false);
		mw_set(&rest, mw_quick_ms() + 200);
	}
	if (t)
		mw_shard_quiet_leave(t);
	mw_maintenance_end();
	pthread_setcancelstate(cancel, NULL);
}
