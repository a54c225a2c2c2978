/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wait.c - see wait.h. */
#include "wait.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

void mw_let_run(unsigned *turns)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (++*turns < 100)
		sched_yield(); /* to threads of our own priority only */
	else
		(void)syscall(SYS_nanosleep, &ms, NULL); /* nanosleep() is a cancellation point */
}

bool mw_is_past(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}
