/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seconds.c - a thread that calls a function each second, for MwrapRack's history.
 *
 * It begins with the first mw_api.every_second(). The caller is in Ruby, so the process has threads
 * anyway (named.h). A forked child gets its own, after MW_LATE_MS, since it may be about to exec.
 * Fork doesn't wait for the function, which must bear that its thread vanishes in the child. At exit
 * no call begins any more, and exit waits END_MS for one that is under way.
 */
#include "shared/sys/clock.h"
#include "tracker/base/own_thread.h"
#include "shared/sys/times.h"
#include "process.h"
#include "threads.h"

enum { STACK = 256 * 1024, END_MS = 200 };
#define SECOND UINT64_C(1000000000)

static void (*each_second)(void); /* release; set once */
static uint64_t next;    /* moment of the next call; 0: not known yet. The thread's */
static uint32_t busy;    /* between two sleeps */
static uint32_t ending;  /* the process exits: begin no call */

static bool call_for_ever(void)
{
	if (!next)
		next = mw_now_ns() + MW_LATE_MS * UINT64_C(1000000);
	while (mw_own_sleep_until(next)) {
		__atomic_store_n(&busy, 1, __ATOMIC_SEQ_CST);
		/* either we see `ending`, or mw_seconds_end sees `busy` */
		if (__atomic_load_n(&ending, __ATOMIC_SEQ_CST)) {
			__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
			return false;
		}
		__atomic_load_n(&each_second, __ATOMIC_ACQUIRE)();
		__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
		next += SECOND;
		if (next <= mw_now_ns()) /* the process was stopped */
			next = mw_now_ns() + SECOND;
	}
	return true;
}

struct mw_host_thread mw_seconds_thread = {
	.run = call_for_ever, .stack = STACK, .failed = "the history's thread: can't be created"
};

static bool start_seconds(void)
{
	return __atomic_load_n(&each_second, __ATOMIC_ACQUIRE) &&
	       !mw_host_thread_start(&mw_seconds_thread) && mw_host_thread_exists(&mw_seconds_thread);
}

bool mw_every_second(void (*f)(void))
{
	void (*none)(void) = NULL;

	(void)__atomic_compare_exchange_n(&each_second, &none, f, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	mw_end_before_destructors();
	return start_seconds();
}

void mw_seconds_after_fork(void)
{
	busy = 0; /* the parent's thread is gone */
	next = 0;
}

void mw_seconds_start_child(void)
{
	(void)start_seconds();
}

void mw_seconds_end(void)
{
	__atomic_store_n(&ending, 1, __ATOMIC_SEQ_CST);
	if (!mw_host_thread_exists(&mw_seconds_thread))
		return;
	for (int i = 0; i < END_MS && __atomic_load_n(&busy, __ATOMIC_SEQ_CST); i++)
		mw_nap();
}
