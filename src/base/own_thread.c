/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_thread.c - the tracker's own threads, and fork: see own_thread.h.
 */
#include "own_thread.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys.h"
#include "wait.h"

enum { NICER = 10 };

__thread bool mw_own_thread_here __attribute__((tls_model("initial-exec")));

void mw_own_thread_begin(void)
{
	mw_own_thread_here = true;
	mw_sys_name_thread("mwrap"); /* inherited by threads that this one starts */
}

void mw_own_thread_step_back(void)
{
	id_t me = (id_t)syscall(SYS_gettid);
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, me);
	if (nice != -1 || !errno)
		(void)setpriority(PRIO_PROCESS, me, nice + NICER); /* capped by the kernel */
}

void mw_nap(void)
{
	mw_sys_nap();
}

void mw_step_begin(struct mw_step *s)
{
	for (;;) {
		__atomic_store_n(&s->under_way, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&s->forking, __ATOMIC_SEQ_CST))
			return;
		mw_step_end(s);
		mw_nap();
	}
}

void mw_step_end(struct mw_step *s)
{
	__atomic_store_n(&s->under_way, 0, __ATOMIC_SEQ_CST);
}

void mw_step_before_fork(struct mw_step *s, uint64_t until)
{
	unsigned turns = 0;

	__atomic_fetch_add(&s->forking, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&s->under_way, __ATOMIC_SEQ_CST) && !mw_is_past(until))
		mw_let_run(&turns);
}

void mw_step_after_fork(struct mw_step *s, int child)
{
	if (child)
		*s = (struct mw_step){ 0 };
	else
		__atomic_fetch_sub(&s->forking, 1, __ATOMIC_SEQ_CST);
}
