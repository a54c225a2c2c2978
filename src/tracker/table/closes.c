/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "closes.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "caller_cache.h"
#include "shared/sys/mw_assert.h"

/*
 * Counts of closes that began, of closes that ended, and of users of libraries. A thread changes
 * `begun` or `users`, then reads the other (sequentially consistent): of two, one sees the other.
 */
static uint32_t begun, ended, users;

bool mw_closing(void)
{
	uint32_t e = __atomic_load_n(&ended, __ATOMIC_ACQUIRE); /* first: each of these has begun */

	return __atomic_load_n(&begun, __ATOMIC_SEQ_CST) != e;
}

bool mw_modules_stay(void)
{
	__atomic_fetch_add(&users, 1, __ATOMIC_SEQ_CST);
	if (!mw_closing())
		return true;
	mw_modules_may_go();
	return false;
}

void mw_modules_may_go(void)
{
	mw_assert(mw_get(&users));
	__atomic_fetch_sub(&users, 1, __ATOMIC_RELEASE); /* all reads of the library are done */
}

void mw_close_begin(void)
{
	const struct timespec wait = { .tv_nsec = 100000 };

	__atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
	mw_caller_forget_all(); /* after that: see closes.h */
	for (int i = 0; i < 200 && __atomic_load_n(&users, __ATOMIC_SEQ_CST); i++)
		(void)syscall(SYS_nanosleep, &wait, NULL);
}

void mw_close_end(void)
{
	mw_caller_forget_all();
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
}

void mw_closes_are(uint32_t n)
{
	mw_set(&users, 0);
	mw_set(&ended, mw_get(&begun) - n);
}
