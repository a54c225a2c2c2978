/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leave.c - the tracker's own threads leave before a call of the app's, and come back after it. */
#include <errno.h>

#include "process.h"
#include "shared/sys/clock.h"
#include "threads.h"
#include "tracker/base/own_thread.h"

#define LEAVE_NS UINT64_C(1000000000)

static struct mw_host_thread *const all[] = { &mw_server_thread, &mw_dumper_thread, &mw_recorder_thread,
					      &mw_seconds_thread };
enum { ALL = sizeof(all) / sizeof(*all) };

bool mw_host_threads_leave(void)
{
	int e = errno;
	bool some = !mw_fork_missed() && mw_own_threads_exist();

	if (some) {
		mw_own_threads_leave();
		mw_server_wake();
		mw_recorder_wake();
		(void)mw_own_threads_gone(mw_now_ns() + LEAVE_NS);
		mw_recorder_hold();
	}
	errno = e;
	return some;
}

void mw_host_threads_back(void)
{
	int e = errno;

	if (mw_own_threads_back()) {
		mw_recorder_stay();
		for (int i = 0; i < ALL; i++)
			if (!mw_host_thread_back(all[i]) && all[i]->lost)
				all[i]->lost();
		mw_recorder_let_go();
	}
	errno = e;
}

void mw_host_threads_child(void)
{
	mw_own_threads_child();
	for (int i = 0; i < ALL; i++)
		all[i]->is = MW_THREAD_NONE;
}
