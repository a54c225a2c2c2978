/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork.c - what happens before and after each fork, and the functions that fork. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <termios.h>
#include <unistd.h>

#include "base/sys.h"
#include "hooks/dl.h"
#include "process.h"
#include "table/heap_pages.h"
#include "table/snapshot.h"
#include "track/track.h"

pid_t mw_forker;
pid_t mw_eldest;

enum { FORK_WAITS_S = 1 };

/*
 * Before: the server is between two steps; nobody retires, resets or moves counts.
 * The locks are taken in their order and released on both sides. Readers read on.
 *
 * All of that is waited for until one moment, FORK_WAITS_S from the beginning: a thread
 * that is kept from running doesn't hold the app up for longer. What it was doing is
 * then half done in the child, which rights it: at most the location that it was at
 * is counted wrongly there.
 *
 * Other threads of the parent may be inside an operation of their own: in
 * the child at most that one operation of each is missing.
 */
static __thread struct {
	unsigned in_reading; /* such forks, nested: a handler forks in the middle of this thread's reading */
	bool maintenance, reading; /* had in time */
} had __attribute__((tls_model("initial-exec")));

static pid_t forking; /* of any thread that forks it is the same */

static bool maintenance_until(const struct timespec *until)
{
	unsigned turns = 0;

	while (!mw_maintenance_try()) {
		if (mw_is_past(until))
			return false;
		mw_let_run(&turns);
	}
	return true;
}

static void before_fork(void)
{
	struct timespec until;

	mw_sys_clock(CLOCK_MONOTONIC, &until);
	until.tv_sec += FORK_WAITS_S;
	forking = mw_sys_getpid();
	mw_server_before_fork(&until);
	mw_dumper_before_fork(&until);
	if (mw_reading_mine() || mw_maintenance_mine()) {
		had.in_reading++;
		return;
	}
	had.maintenance = maintenance_until(&until);
	had.reading = mw_reading_lock_until(&until);
	mw_gate_close_until(&until);
}

static void after_fork_parent(void)
{
	if (had.in_reading) {
		had.in_reading--;
	} else {
		mw_gate_open();
		if (had.reading)
			mw_reading_unlock();
		if (had.maintenance)
			mw_maintenance_end();
	}
	mw_dumper_after_fork(0);
	mw_server_after_fork(0);
}

static void after_fork_child(void)
{
	if (!mw_eldest)
		mw_eldest = forking;
	mw_forker = forking;
	mw_heap_pages_after_fork();
	mw_closes_after_fork();
	mw_rcu_after_fork();
	mw_shards_after_fork(mw_state());
	if (had.in_reading) {
		had.in_reading--;
	} else {
		mw_late_ops = 0;
		mw_gate_open();
		if (had.reading)
			mw_reading_unlock();
		mw_reading_after_fork(had.reading);
		mw_maintenance_after_fork(had.maintenance);
		mw_growth_from_here(mw_options.socket || mw_options.socket_dir || mw_options.listen);
	}
	mw_dumper_after_fork(1);
	mw_server_after_fork(1);
}

/*
 * The child's threads are started here and not in a handler: a handler runs
 * before the C library is itself again. daemon() and forkpty() fork inside
 * the C library, past a wrapper of fork.
 */
static void start_child(void)
{
	mw_server_start();
	mw_dumper_start_child();
}

MW_EXPORT pid_t fork(void)
{
	static pid_t (*next)(void);
	pid_t pid;

	if (!next)
		next = (pid_t(*)(void))mw_real_next("fork");
	pid = next();
	if (pid == 0)
		start_child();
	return pid;
}

MW_EXPORT int daemon(int nochdir, int noclose)
{
	static int (*next)(int, int);
	int r;

	if (!next)
		next = (int (*)(int, int))mw_real_next("daemon");
	r = next(nochdir, noclose);
	if (r == 0)
		start_child();
	return r;
}

struct winsize;
MW_EXPORT int forkpty(int *, char *, const struct termios *, const struct winsize *);
MW_EXPORT int forkpty(int *fd, char *name, const struct termios *t, const struct winsize *w)
{
	static int (*next)(int *, char *, const struct termios *, const struct winsize *);
	int pid;

	if (!next)
		next = (int (*)(int *, char *, const struct termios *,
				const struct winsize *))mw_real_next("forkpty");
	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	pid = next(fd, name, t, w);
	if (pid == 0)
		start_child();
	return pid;
}

bool mw_fork_init(void)
{
	return pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
}
