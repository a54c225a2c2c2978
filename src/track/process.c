/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dl.h"
#include "process.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <termios.h>
#include <unistd.h>

#include "../report/report.h"
#include "../sys.h"
#include "../table/heap_pages.h"
#include "../table/read.h"
#include "named.h"
#include "ruby.h"
#include "say.h"
#include "track.h"

struct mw_options mw_options = { .dump_fd = -1 };
struct timespec mw_loaded_at;
uint64_t mw_resets;
pid_t mw_forker;
pid_t mw_eldest;

extern int __cxa_atexit(void (*)(void *), void *, void *);

void mw_complain(const char *text)
{
	char line[MW_ERROR_MAX + 16];
	int e = errno, n = snprintf(line, sizeof(line), "mwrap: %s\n", text);
	ssize_t w;

	if (n >= (int)sizeof(line)) {
		n = sizeof(line) - 1;
		line[n - 1] = '\n';
	}
	w = mw_sys_write(STDERR_FILENO, line, (size_t)n);
	(void)w;
	errno = e;
}

/* --- fork --------------------------------------------------------------------------- */

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
	mw_threads_after_fork(mw_state());
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

/* --- load and exit ------------------------------------------------------------------------ */

static bool dumper_ended;

static void end_threads(void)
{
	static bool done;

	if (__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		return;
	mw_server_end();
	dumper_ended = mw_dumper_end();
}

static void end_threads_at_exit(void *unused)
{
	(void)unused;
	end_threads();
}

void mw_end_before_destructors(void)
{
	static bool done;

	if (!__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		(void)__cxa_atexit(end_threads_at_exit, NULL, NULL); /* if it can't be: in our destructor */
}

static void last_of_all(void *unused)
{
	static bool done;

	(void)unused;
	if (__atomic_exchange_n(&done, true, __ATOMIC_ACQ_REL))
		return;
	mw_quiet_enter();
	if (mw_dump_at_exit(&mwrap_api) && dumper_ended)
		mw_periodic_remove(&mw_options);
	mw_quiet_leave();
}

/*
 * A Ruby that a signal ends (an uncaught SignalException: what SIGTERM does
 * to Puma and Sidekiq) takes its VM down in good order and then raises the
 * signal against itself, so that no handler of exit runs. Its socket is to
 * go, and its dump to be written, all the same.
 */
MW_EXPORT int raise(int sig)
{
	static int (*next)(int);

	if (mw_get(&mw_ruby.how) == MW_RUBY_ENDED) {
		end_threads();
		last_of_all(NULL);
	}
	if (!next)
		next = (int (*)(int))mw_real_next("raise");
	return next(sig);
}

__attribute__((constructor)) static void load(void)
{
	char err[MW_ERROR_MAX];

	mw_sys_clock(CLOCK_MONOTONIC, &mw_loaded_at);
	mw_say_init();
	mw_start();
	mw_quiet_enter();
	if (!mw_options_parse(&mw_options, getenv("MWRAP"), err))
		mw_complain(err);
	mw_options_bases(&mw_options, getenv("TMPDIR"), getenv("XDG_RUNTIME_DIR"));
	if (mw_life != MW_ON) {
		if (!mw_real_aside)
			mw_complain("no memory for the tables: nothing is counted");
		else if (mw_named()) /* else somebody may read what its child says */
			mw_complain(mw_real_aside);
		mw_quiet_leave();
		return;
	}
	mw_own_limit(mw_options.memory_max);
	mw_ruby_init();
	if (pthread_atfork(before_fork, after_fork_parent, after_fork_child) != 0)
		mw_complain("pthread_atfork failed: forked children may count wrongly");
	mw_threads_decide();
	mw_server_start();
	mw_dumper_start();
	mw_quiet_leave();
}

/*
 * Destructors of libraries that were loaded after us have yet to run, and
 * free what is to be counted: a handler registered now is called after all
 * of them. Without a DSO handle, or it would be called in our own unloading.
 * By then others' destructors have run: it calls nothing of what they may interpose (sys.h).
 */
__attribute__((destructor)) static void unload(void)
{
	end_threads();
	if (mw_life == MW_ON && (mw_options.dump_path || mw_options.dump_fd >= 0)) {
		mw_quiet_enter();
		if (__cxa_atexit(last_of_all, NULL, NULL) != 0)
			mw_complain("the dump could not be registered");
		mw_quiet_leave();
	}
}
