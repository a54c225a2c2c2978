/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child.c - the forked child: what it keeps away from the application, and the order of its work. */
#include "run.h"

#include <sys/resource.h>
#include <sys/time.h>

#include "shared/sys/clock.h"
#include "shared/sys/sys.h"

/* On a busy machine an answer that somebody waits for may not starve: at 10 it took a minute. */
enum { MAPPINGS = 65536, NICE_ASKED = 5, NICE_PROOF = 10 };

/*
 * No signal but SIGALRM, which ends the child if the parent is gone; no core dump; the kernel's
 * first choice when memory runs out; behind the application's threads; none of its descriptors.
 */
static void keep_away(int nice)
{
	static const struct rlimit none;
	const struct itimerval limit = { .it_value.tv_sec = 2 * MW_HOLDERS_SECONDS };
	unsigned long by_default[4] = { 0 }, alarm_only = 1ul << (SIGALRM - 1);
	int fd = mw_sys_open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0);

	if (fd >= 0) {
		(void)mw_sys_write(fd, "1000", 4);
		mw_sys_close(fd);
	}
	mw_sys(SYS_rt_sigaction, SIGALRM, mw_sys_ptr(by_default), 0, MW_SYS_SIGSET, 0);
	mw_sys(SYS_setitimer, ITIMER_REAL, mw_sys_ptr(&limit), 0, 0, 0);
	mw_sys(SYS_rt_sigprocmask, SIG_UNBLOCK, mw_sys_ptr(&alarm_only), 0, MW_SYS_SIGSET, 0);
	mw_sys(SYS_prlimit64, 0, RLIMIT_CORE, mw_sys_ptr(&none), 0, 0);
	/* the call's value is 20 - nice; root could go up */
	if (mw_sys(SYS_getpriority, PRIO_PROCESS, 0, 0, 0, 0) > 20 - nice)
		mw_sys(SYS_setpriority, PRIO_PROCESS, 0, nice, 0, 0);
#ifdef SYS_close_range
	mw_sys(SYS_close_range, 0, ~0u, 0, 0, 0);
#endif
}

_Noreturn void mw_child_run(struct mw_walk *w)
{
	uint64_t began = mw_now_ns();

	keep_away(w->asked ? NICE_ASKED : NICE_PROOF);
	w->mappings = mw_child_map(w, MAPPINGS * sizeof(*w->mappings));
	w->n_mappings = mw_mappings_read(w->mappings, MAPPINGS);
	mw_areas_bound(w->areas, w->mappings, w->n_mappings);
	mw_reach_objects(w);
	mw_copy_blocks(w);
	mw_scan(w);
	mw_add_sampled(w);
	mw_group(w);
	w->found->ns = mw_now_ns() - began;
	mw_child_end(w, MW_FOUND_ALL);
}
