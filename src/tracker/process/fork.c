/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork.c - prepares for each fork, tidies up after it, and wraps the functions that fork. */
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "tracker/base/own_thread.h"
#include "shared/sys/clock.h"
#include "shared/sys/libc.h"
#include "shared/sys/ranks.h"
#include "shared/sys/sys.h"
#include "linker_state.h"
#include "tracker/hooks/dl.h"
#include "tracker/hooks/got.h"
#include "process.h"
#include "tracker/table/heap_pages.h"
#include "tracker/table/snapshot.h"
#include "tracker/real/own_blocks.h"
#include "tracker/real/real.h"
#include "tracker/stacks/stacks.h"
#include "threads.h"
#include "tracker/track/sample.h"

enum { FORK_WAITS_S = 1 };

/*
 * At the fork the server and the dumper are between two steps, and no thread retires
 * locations, resets or moves counts. Fork takes the locks in their order; parent and child
 * release them. Readers go on.
 *
 * Fork waits for all of that until one moment, FORK_WAITS_S from its beginning. A thread
 * that isn't scheduled delays the app no longer than that. The work of that thread is then
 * half done in the child, which repairs it: at most one location, the one that the thread
 * was at, is counted wrongly there.
 *
 * Other threads of the parent may be inside a call of their own. The child misses at most
 * that one call of each.
 */
static __thread struct {
	unsigned in_reading; /* forks by a signal handler within this thread's reading; nested */
	bool maintenance, reading, stacks; /* the lock was taken in time */
} had __attribute__((tls_model("initial-exec")));

static pid_t forking; /* this process; each thread that forks stores the same */

static bool maintenance_until(uint64_t until)
{
	unsigned turns = 0;

	while (!mw_maintenance_try()) {
		if (mw_is_past(until))
			return false;
		mw_let_run(&turns);
	}
	return true;
}

/* Those that the parent's threads of ours held when this process was forked past the handlers. */
static void free_lost_locks(void)
{
	mw_libc_free_linker_locks(mw_own_thread_was);
	mw_own_after_fork();
}

static void before_fork(void)
{
	uint64_t until = mw_now_ns() + FORK_WAITS_S * UINT64_C(1000000000);

	/* this process was forked past these handlers: threads that they would wait for don't exist in it */
	if (mw_fork_missed()) {
		free_lost_locks();
		until = 0;
	}
	forking = mw_sys_getpid();
	mw_ranks_aside();
	mw_server_before_fork(until);
	mw_dumper_before_fork(until);
	mw_recorder_before_fork(until);
	mw_got_before_fork(until); /* last of these: a step of theirs calls dlsym, which may lead calls */
	if (mw_reading_mine() || mw_maintenance_mine()) {
		had.in_reading++;
	} else {
		had.maintenance = maintenance_until(until);
		had.reading = mw_reading_lock_until(until);
		mw_gate_close_until(until);
		had.stacks = mw_stacks_lock_until(until);
	}
	mw_linker_before_fork();
}

static void after_fork_parent(void)
{
	if (had.in_reading) {
		had.in_reading--;
	} else {
		if (had.stacks)
			mw_stacks_unlock();
		mw_gate_open();
		if (had.reading)
			mw_reading_unlock();
		if (had.maintenance)
			mw_maintenance_end();
	}
	mw_got_after_fork(0);
	mw_recorder_after_fork(0);
	mw_dumper_after_fork(0);
	mw_server_after_fork(0);
	mw_ranks_again();
}

static void after_fork_child(void)
{
	if (!mw_eldest)
		mw_eldest = forking;
	mw_forker = forking;
	mw_main_thread = (uintptr_t)pthread_self();
	mw_own_after_fork();
	mw_late_after_fork();
	mw_heap_pages_after_fork();
	mw_closes_after_fork();
	mw_rcu_after_fork();
	mw_flushed_after_fork();
	mw_shards_after_fork(mw_state());
	mw_stacks_after_fork(!had.in_reading && had.stacks);
	mw_sampling_after_fork(mw_state());
	if (had.in_reading) {
		had.in_reading--;
	} else {
		mw_gate_open();
		if (had.reading)
			mw_reading_unlock();
		mw_reading_after_fork(had.reading);
		mw_maintenance_after_fork(had.maintenance);
		mw_growth_from_here(mw_options_need_server(&mw_options));
	}
	mw_got_after_fork(1);
	mw_recorder_after_fork(1);
	mw_dumper_after_fork(1);
	mw_seconds_after_fork();
	mw_server_after_fork(1);
	mw_host_threads_child();
	mw_linker_after_fork_child();
	mw_ranks_again();
	mw_fork_mark_set();
}

void mw_fork_repair(void)
{
	if (!mw_fork_missed())
		return;
	free_lost_locks();
	had.in_reading = 0;
	had.maintenance = had.reading = had.stacks = false;
	forking = (pid_t)mw_sys(SYS_getppid, 0, 0, 0, 0, 0);
	mw_gate_close_until(mw_now_ns()); /* after_fork_child opens it */
	after_fork_child();
}

/*
 * Starts the child's threads. A pthread_atfork handler can't: it runs before the C library
 * has put itself in order. daemon() and forkpty() fork inside the C library, past our
 * fork(), so they have wrappers, too.
 */
static void start_child(void)
{
	mw_server_start();
	mw_dumper_start_child();
	mw_recorder_start_child();
	mw_seconds_start_child();
}

MW_EXPORT pid_t fork(void)
{
	pid_t pid;

	mw_real_init();
	pid = mw_next.fork();
	if (pid == 0)
		start_child();
	return pid;
}

MW_EXPORT int daemon(int nochdir, int noclose)
{
	int r;

	mw_real_init();
	r = mw_next.daemon(nochdir, noclose);
	if (r == 0)
		start_child();
	return r;
}

MW_EXPORT int forkpty(int *, char *, const struct termios *, const struct winsize *);
MW_EXPORT int forkpty(int *fd, char *name, const struct termios *t, const struct winsize *w)
{
	int pid;

	mw_real_init();
	pid = mw_next.forkpty(fd, name, t, w);
	if (pid == 0)
		start_child();
	return pid;
}

bool mw_fork_init(void)
{
	mw_fork_mark_make();
	mw_libc_find_locks();
	return pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
}
