/* SPDX-License-Identifier: GPL-2.0-or-later */
/* linker_state.c - see linker_state.h. */
#include "linker_state.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/sys/atomics.h"
#include "shared/sys/clock.h"
#include "shared/sys/libc.h"
#include "shared/sys/sys.h"
#include "shared/sys/thread.h"
#include "tracker/base/own_thread.h"
#include "tracker/base/wait.h"

enum { STACK = 64 * 1024 };
#define PROBE_NS UINT64_C(1000000000)

static __thread bool loading
	__attribute__((tls_model("initial-exec"))); /* in the forking thread: another one loads */
static bool broken; /* the child's, before it has threads */
static enum { YES, ASK, NO } threads; /* relaxed; two threads that ask get one answer */

void mw_linker_before_fork(void)
{
	/* mostly no call: a program's own filter of system calls may lack it */
	loading = mw_libc_linker_is_locked(0) &&
		  mw_libc_linker_is_locked((uint32_t)mw_sys(SYS_gettid, 0, 0, 0, 0, 0));
}

void mw_linker_after_fork_child(void)
{
	/* it is still "consistent" while that thread takes its last lock before it changes something */
	broken |= mw_linker()->r_state != RT_CONSISTENT || mw_libc_linker_is_locked(0);
	/* and again while it tells glibc of thread-local variables, with locks that glibc resets in a child */
	if (loading && threads == YES)
		threads = ASK;
}

static void *end_at_once(void *unused)
{
	return unused;
}

/* In the copy, which is this thread alone. glibc's last words would go to stderr. */
static _Noreturn void probe(void)
{
	void *none;
	int null = mw_sys_open("/dev/null", O_WRONLY | O_CLOEXEC, 0), e = -1;

	if (null >= 0 && mw_sys(SYS_dup3, null, STDERR_FILENO, 0, 0, 0) >= 0)
		e = mw_thread_run(end_at_once, NULL, STACK, &none);
	mw_sys(SYS_exit_group, e != 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

/* Without a signal at its end, so that no wait of the app's sees it. */
static bool copy_starts_one(void)
{
	uint64_t until = mw_now_ns() + PROBE_NS;
	sigset_t every, old;
	int status = -1;
	long pid, gone;

	sigfillset(&every);
	mw_sys_sigmask(SIG_SETMASK, &every, &old);
	pid = mw_sys(SYS_clone, 0, 0, 0, 0, 0);
	if (pid == 0)
		probe();
	mw_sys_sigmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return false;
	while ((gone = mw_sys(SYS_wait4, pid, mw_sys_ptr(&status), __WALL | WNOHANG, 0, 0)) == 0 &&
	       !mw_is_past(until))
		mw_nap();
	if (gone == 0) {
		mw_sys(SYS_kill, pid, SIGKILL, 0, 0, 0);
		(void)mw_sys(SYS_wait4, pid, 0, __WALL, 0, 0);
	}
	return gone == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool mw_linker_starts_threads(void)
{
	if (mw_get(&threads) == ASK)
		mw_set(&threads, copy_starts_one() ? YES : NO);
	return mw_get(&threads) == YES;
}

bool mw_linker_loads(void)
{
	return !broken && mw_linker_starts_threads();
}
