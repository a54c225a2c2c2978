/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wait.h"

#include <sched.h>

#include "shared/sys/clock.h"
#include "shared/sys/sys.h"

void mw_let_run(unsigned *turns)
{
	if (++*turns < 100)
		sched_yield(); /* to threads of this thread's priority only */
	else
		mw_sys_nap();
}

bool mw_is_past(uint64_t ns)
{
	return mw_now_ns() >= ns;
}
