/* SPDX-License-Identifier: GPL-2.0-or-later */
/* before_destructors.c - lets exit(3) end our threads before any library's destructor. */
#include <stdbool.h>
#include <stddef.h>

#include "process.h"

extern int __cxa_atexit(void (*)(void *), void *, void *);

static void (*end_threads)(void); /* written by the constructor, before any thread of ours begins */

void mw_ends_by(void (*end)(void))
{
	end_threads = end;
}

static void end_threads_at_exit(void *unused)
{
	(void)unused;
	if (end_threads)
		end_threads();
}

void mw_end_before_destructors(void)
{
	static bool done;

	if (!__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		(void)__cxa_atexit(end_threads_at_exit, NULL, NULL); /* else in our destructor */
}
