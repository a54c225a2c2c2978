/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading.c - the lock that readers share, and a reset or a sweep has alone; see snapshot.h. */
#include <pthread.h>

#include "shared/sys/libc.h"
#include "shared/sys/mw_assert.h"
#include "shared/sys/ranks.h"
#include "shared/sys/sys.h"
#include "snapshot.h"

/* A reset waits for present readers; later readers wait for the reset. */
static pthread_rwlock_t lock = MW_RWLOCK_UNLOCKED;

/* This thread's hold on the lock. Set before and after the lock's calls: see mw_reading_mine. */
enum mine { NOT_MINE, MAYBE, SHARED, ALONE };
static __thread uint8_t mine __attribute__((tls_model("initial-exec")));

static void mine_is(enum mine m)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mine = (uint8_t)m;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* call: one of the C library's for such a lock. False: it failed. */
static bool take_reading_lock(int (*call)(pthread_rwlock_t *), enum mine held)
{
	bool had;

	mine_is(MAYBE);
	had = call(&lock) == 0;
	if (had)
		mw_rank_took(MW_RANK_READING);
	mine_is(had ? held : NOT_MINE);
	return had;
}

void mw_reading_lock(void)
{
	mw_rank_wait(MW_RANK_READING);
	(void)take_reading_lock(pthread_rwlock_rdlock, SHARED);
}

bool mw_reading_try(void)
{
	return take_reading_lock(pthread_rwlock_tryrdlock, SHARED);
}

bool mw_reading_lock_until(uint64_t until)
{
	const struct timespec t = mw_sys_timespec(until);
	bool had;

	mw_rank_wait(MW_RANK_READING);
	mine_is(MAYBE);
	had = mw_libc_rdlock_until(&lock, &t) == 0;
	if (had)
		mw_rank_took(MW_RANK_READING);
	mine_is(had ? SHARED : NOT_MINE);
	return had;
}

void mw_reading_unlock(void)
{
	mw_assert(mine == SHARED || mine == ALONE);
	mw_rank_left(MW_RANK_READING);
	mine_is(MAYBE);
	pthread_rwlock_unlock(&lock);
	mine_is(NOT_MINE);
}

void mw_rebasing_lock(void)
{
	mw_rank_wait(MW_RANK_READING);
	(void)take_reading_lock(pthread_rwlock_wrlock, ALONE);
}

bool mw_rebasing_try(void)
{
	return take_reading_lock(pthread_rwlock_trywrlock, ALONE);
}

void mw_rebasing_unlock(void)
{
	mw_assert(mine == ALONE);
	mw_reading_unlock();
}

bool mw_reading_mine(void)
{
	return mine != NOT_MINE;
}

/* If a signal handler forks in the middle of a reset of this very thread, the reset goes on. */
bool mw_reading_lock_after_fork(void)
{
	static const pthread_rwlock_t unlocked = MW_RWLOCK_UNLOCKED;

	if (mine != MAYBE) /* else the lock's state isn't known, and stays */
		lock = unlocked;
	if (mine == SHARED)
		pthread_rwlock_rdlock(&lock);
	else if (mine == ALONE)
		pthread_rwlock_wrlock(&lock);
	return mine != SHARED && mine != ALONE;
}
