/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wait.c - waits by polling; see wait.h. */
#include "wait.h"

#include <sched.h>

#include "sys.h"

void mw_let_run(unsigned *turns)
{
	if (++*turns < 100)
		sched_yield(); /* to threads of this thread's priority only */
	else
		mw_sys_nap();
}

bool mw_is_past(const struct timespec *t)
{
	struct timespec now;

	mw_sys_clock(CLOCK_MONOTONIC, &now);
	return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}
