/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * retire.c - makes room in the table of locations.
 *
 * An app that evals for weeks makes new locations for ever. When the table
 * is more than half full, sweeps begin; from three quarters on, a location
 * with nothing live, which allocated nothing since the last sweep, is folded
 * into "(gone)" and its id used again.
 *
 * The hard part: an id may be cached by any thread, and be in use by a call
 * under way. So: (1) the chosen leave the hash table; (2) every cached
 * caller becomes stale; (3) every thread that was inside the tracker leaves
 * it (with membarrier(2) for what plain stores can't promise); (4) an RCU
 * grace period for readers; (5) whoever was used meanwhile goes back; (6)
 * the others are folded, under the reading lock, so that each count is seen
 * once. A thread that stays inside for long (stopped in a debugger) makes
 * the sweep give up; nothing is lost by that.
 */
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "overruns.h"
#include "read.h"
#include "thread.h"
#include "where_cache.h"

enum { WAIT_MS = 50 };

static bool barrier(void)
{
	static bool registered;

	if (!registered && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
		registered = true;
	return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static long ms_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool mw_calls_left(void)
{
	long until = ms_now() + WAIT_MS;
	struct mw_thread *t;

	if (!barrier())
		return false;
	for (t = __atomic_load_n(&mw_threads, __ATOMIC_ACQUIRE); t; t = t->next) {
		while (t != mw_self && __atomic_load_n(&t->pass, __ATOMIC_ACQUIRE) == MW_PASS_BUSY) {
			if (ms_now() > until)
				return false;
			sched_yield();
		}
	}
	while (__atomic_load_n(&mw_late_ops, __ATOMIC_ACQUIRE)) {
		if (ms_now() > until)
			return false;
		sched_yield();
	}
	return true;
}

static bool idle(const struct mw_callsite *c, const struct mw_sum *s)
{
	uint8_t kind = mw_get(&c->kind);

	return (kind == MW_CS_RUBY || kind == MW_CS_NATIVE || kind == MW_CS_PENDING) &&
	       s->c.allocs == s->c.frees && mw_get(&c->seen) == (uint32_t)s->c.allocs &&
	       !mw_overruns_at(c->id); /* what was found there is shown for ever */
}

/* Chooses into chosen[]; marks the others as seen. Returns how many. */
static uint32_t choose(uint32_t *chosen, const struct mw_sum *sums, uint32_t end, bool now)
{
	uint32_t id, n = 0;

	for (id = MW_CS_FIRST; id < end; id++) {
		struct mw_callsite *c = mw_callsite(id);

		if (now && idle(c, &sums[id]))
			chosen[n++] = id;
		else
			mw_set(&c->seen, (uint32_t)sums[id].c.allocs);
	}
	return n;
}

static void back(const uint32_t *chosen, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = chosen[i], is;

		if (mw_get(&mw_callsite(id)->alias))
			continue; /* never was in the table */
		is = mw_callsite_relink(id);
		if (is != id)
			__atomic_store_n(&mw_callsite(id)->alias, is, __ATOMIC_RELEASE);
	}
}

/* An id that others point to must stay: its aliases would point to a stranger. */
static uint32_t keep_targets(uint32_t *chosen, uint32_t n, uint32_t end, uint8_t *is_target)
{
	uint32_t id, i, kept = 0;

	for (id = MW_CS_FIRST; id < end; id++) {
		uint32_t to = mw_get(&mw_callsite(id)->alias);

		/* an alias made meanwhile may be of a location newer than `end` */
		if (to && to < end && mw_get(&mw_callsite(id)->kind) != MW_CS_FREE)
			is_target[to] = 1;
	}
	for (i = 0; i < n; i++)
		if (!is_target[chosen[i]])
			chosen[kept++] = chosen[i];
	return kept;
}

static void fold(const uint32_t *chosen, uint32_t n)
{
	struct mw_sum *sums;
	uint32_t end, i, used_again = 0, *again;

	mw_reading_lock();
	mw_epoch_next();
	sums = mw_sums(&end);
	again = mw_own_lend((n + 1) * sizeof(*again));
	for (i = 0; i < n && sums && again; i++) {
		struct mw_callsite *c = mw_callsite(chosen[i]);
		const struct mw_sum *s = &sums[chosen[i]];
		uint32_t to = mw_get(&c->alias);

		if (!idle(c, s) || !mw_base_fold(chosen[i], to ? mw_callsite_real(to) : MW_CS_GONE, s))
			goto keep;
		__atomic_store_n(&c->alias, 0, __ATOMIC_RELEASE);
		mw_set(&c->born, mw_epoch());
		mw_callsite_release(chosen[i]);
		mw_add(&mw_retired, 1);
		continue;
	keep:
		again[used_again++] = chosen[i];
	}
	mw_reading_unlock();
	if (sums && again)
		back(again, used_again);
	else
		back(chosen, n);
	mw_own_return(again, (n + 1) * sizeof(*again));
	if (sums)
		mw_sums_free(sums, end);
}

void mw_retire(bool now)
{
	struct mw_path *dead = mw_paths_dead();
	uint32_t end, n, i, *chosen;
	struct mw_sum *sums;
	uint8_t *is_target;
	size_t map;

	mw_reading_lock();
	sums = mw_sums(&end);
	mw_reading_unlock();
	map = end * (sizeof(*chosen) + 1);
	chosen = mw_own_lend(map);
	if (sums && chosen) {
		is_target = (uint8_t *)(chosen + end);
		n = choose(chosen, sums, end, now);
		n = keep_targets(chosen, n, end, is_target);
		for (i = 0; i < n; i++)
			mw_callsite_unlink(chosen[i]);
		mw_where_forget_all();
		if (n && mw_calls_left()) {
			synchronize_rcu();
			mw_take_over(&mw_retired);
			mw_paths_free(dead);
			dead = NULL;
			fold(chosen, n);
		} else {
			back(chosen, n);
		}
	}
	mw_paths_dead_again(dead); /* no grace period was had: wait for the next */
	mw_own_return(chosen, map);
	if (sums)
		mw_sums_free(sums, end);
}
