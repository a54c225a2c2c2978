/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rcu.h"

#include "shared/sys/mw_assert.h"
#include "callsite.h"

/*
 * Sections under way, by the counter that each began on. Sequentially consistent: either a reader
 * sees the unlinks before mw_grace_begin(), or mw_grace_over() sees the reader.
 */
static uint32_t readers[2];
static uint32_t current;  /* relaxed: the counter for new sections */
static bool seen_zero[2]; /* under mw_maintenance */

/* The calling thread's sections: their depth, and their counter. */
static __thread struct {
	uint32_t depth, counter;
} mine __attribute__((tls_model("initial-exec")));

void mw_rcu_enter(void)
{
	uint32_t counter;

	if (mine.depth) {
		mine.depth++;
		return;
	}
	counter = mw_get(&current);
	__atomic_fetch_add(&readers[counter], 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* before any read of the tables */
	/* only now: a signal handler that runs before has a section of its own */
	mine.counter = counter;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mine.depth = 1;
}

void mw_rcu_leave(void)
{
	uint32_t counter = mine.counter;

	mw_assert(mine.depth && mw_get(&readers[counter]));
	if (--mine.depth)
		return;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* as above */
	__atomic_fetch_sub(&readers[counter], 1, __ATOMIC_SEQ_CST);
}

bool mw_rcu_reading(void)
{
	return mine.depth != 0;
}

void mw_grace_begin(void)
{
	mw_assert(mw_maintenance_mine());
	seen_zero[0] = seen_zero[1] = false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* unlinks come before the reads of the counters */
}

bool mw_grace_over(void)
{
	mw_assert(mw_maintenance_mine());
	for (uint32_t i = 0; i < 2; i++)
		if (!__atomic_load_n(&readers[i], __ATOMIC_SEQ_CST))
			seen_zero[i] = true;
	/* new sections don't keep up the counter that is waited for */
	if (!seen_zero[mw_get(&current)])
		mw_set(&current, 1 - mw_get(&current));
	return seen_zero[0] && seen_zero[1];
}

void mw_rcu_after_fork(void)
{
	mw_set(&readers[0], 0);
	mw_set(&readers[1], 0);
	if (mine.depth)
		mw_set(&readers[mine.counter], 1);
}
