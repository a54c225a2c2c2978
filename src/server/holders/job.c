/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job.c - asks from a thread that isn't Ruby's, such as the server's.
 *
 * Ruby calls a "postponed job" in one of its threads, with the GVL, where Ruby code may run anyway.
 * That job forks; the asking thread waits for the child. A job that comes too late finds nothing
 * wanted, and so does one in a process that was forked meanwhile.
 */
#include <signal.h>
#include <string.h>

#include "shared/sys/libc.h"
#include "shared/sys/clock.h"
#include "shared/sys/ruby_wake.h"
#include "shared/sys/sys.h"
#include "fail.h"
#include "ruby.h"

enum { IDLE, WANTED, TAKEN, DONE };

enum { NUDGE_FIRST = 50000000, NUDGE_MOST = 500000000 }; /* ns */

/* The question. The thread that moved `state` to TAKEN, or to WANTED, writes the rest. */
static struct {
	pid_t asker;    /* the process with a thread in mw_holders_ask; acquire, release */
	uint32_t state; /* acquire, release; a futex */
	const struct mw_api *api;
	const struct mw_holders_question *question;
	struct mw_holders_child child;
	enum mw_holders_is is;
	char err[MW_HOLDERS_ERROR];
} job;

static bool move(uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&job.state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void begin_search(void *unused)
{
	(void)unused;
	job.is = mw_holders_begin(&job.child, job.api, job.question, job.err);
}

/* In a Ruby thread, with the GVL. Ruby may run it when its code has ended, too. */
static void run_holders_job(void *unused)
{
	if (__atomic_load_n(&job.asker, __ATOMIC_ACQUIRE) != mw_sys_getpid() || !move(WANTED, TAKEN))
		return;
	if (!job.api->while_ruby(begin_search, unused))
		job.is = mw_holders_fail(MW_HOLDERS_FAILED, job.err, "holders: Ruby ends");
	__atomic_store_n(&job.state, DONE, __ATOMIC_RELEASE);
	mw_sys_futex_wake(&job.state);
}

/* Has Ruby call run_holders_job(); false: it can't. */
static bool trigger(void)
{
	return job.api->ask_ruby && job.api->ask_ruby(run_holders_job);
}

/* Does Ruby run? Any other answer has the reason in err. */
static enum mw_holders_is look_for_ruby(const struct mw_api *api, char err[MW_HOLDERS_ERROR])
{
	struct mw_stats stats;

	api->stats(&stats);
	if (!strcmp(stats.ruby_lookup, "none"))
		return mw_holders_fail(MW_HOLDERS_UNKNOWN, err, "holders: no Ruby runs in this process");
	if (strcmp(stats.ruby_lookup, "fast") && strcmp(stats.ruby_lookup, "public"))
		return mw_holders_fail(MW_HOLDERS_FAILED, err,
				       "holders: Ruby is still starting: try again");
	return MW_HOLDERS_OK;
}

static struct mw_object ruby; /* where its code is; written before the handler is set */

static void wake_on_signal(int signal)
{
	(void)signal;
	(void)mw_ruby_wake(ruby.start, ruby.end);
}

/*
 * Sets wake_on_signal() as the handler of `signal`, which the kernel ignores without one. It stays: to take it away
 * could take away one that the app sets meanwhile. False: the app has one.
 */
static bool handle(int signal)
{
	const struct sigaction to = { .sa_handler = wake_on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
	struct sigaction was;

	if (sigaction(signal, NULL, &was) != 0 ||
	    (was.sa_handler != SIG_DFL && was.sa_handler != wake_on_signal))
		return false;
	if (sigaction(signal, &to, &was) != 0)
		return false;
	if (was.sa_handler == SIG_DFL || was.sa_handler == wake_on_signal)
		return true;
	(void)sigaction(signal, &was, NULL); /* set meanwhile */
	return false;
}

/*
 * Ruby tells the thread that ran last of the job, which may sleep. So the main thread is woken: from then
 * on it is the one that ran last, and the next time it is told and woken. It is woken by code in itself:
 * Ruby's writes to a descriptor, which a server's thread doesn't have.
 */
static void nudge(void)
{
	static const int ignored[] = { SIGURG, SIGWINCH };
	pid_t main = mw_sys_getpid();

	(void)trigger();
	if (!mw_object_of((uintptr_t)mw_walk_ruby.rb_during_gc, &ruby))
		return;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		if (handle(ignored[i])) {
			mw_sys(SYS_tgkill, main, main, ignored[i], 0, 0);
			return;
		}
}

/* The app makes a call for which this thread must be gone. */
static bool leaving(void)
{
	return job.api->leaving && job.api->leaving();
}

/* Waits until the job is done; false: not in time, and it never begins. */
static bool wait_for_job(void)
{
	uint64_t now = mw_now_ns(), until = now + (uint64_t)MW_HOLDERS_JOB_SECONDS * 1000000000;
	uint64_t pause = NUDGE_FIRST, next = now + pause;
	char err[MW_HOLDERS_ERROR];
	uint32_t is;

	while ((is = __atomic_load_n(&job.state, __ATOMIC_ACQUIRE)) != DONE) {
		now = mw_now_ns();
		if ((now > until || leaving()) && move(WANTED, IDLE))
			return false;
		if (now >= next && is == WANTED) {
			if (look_for_ruby(job.api, err) == MW_HOLDERS_OK)
				nudge();
			pause = 2 * pause < NUDGE_MOST ? 2 * pause : NUDGE_MOST;
			next = now + pause;
		}
		mw_sys_futex_wait(&job.state, is, NUDGE_FIRST);
	}
	return true;
}

static enum mw_holders_is ask_by_job(const struct mw_api *api, struct mw_holders *h,
				     char err[MW_HOLDERS_ERROR])
{
	static const uint32_t at_once = 1;
	enum mw_holders_is is;

	__atomic_store_n(&job.state, WANTED, __ATOMIC_RELEASE);
	if (!trigger())
		return mw_holders_fail(MW_HOLDERS_UNKNOWN, err,
				       "holders: this Ruby accepts no jobs from outside");
	if (!wait_for_job())
		return mw_holders_fail(
			MW_HOLDERS_FAILED, err,
			"holders: no Ruby thread ran within 10 seconds: try again while the application works");
	is = job.is;
	if (is != MW_HOLDERS_OK)
		return mw_holders_fail(is, err, "%s", job.err);
	while ((is = mw_holders_end(&job.child, api, &at_once, h, err)) == MW_HOLDERS_AGAIN && !leaving())
		mw_sys_nap();
	if (is == MW_HOLDERS_AGAIN) {
		mw_holders_drop(&job.child);
		is = mw_holders_fail(MW_HOLDERS_FAILED, err,
				     "holders: the application changed its user meanwhile: try again");
	}
	return is;
}

enum mw_holders_is mw_holders_ask(const struct mw_api *api, const struct mw_holders_question *q,
				  struct mw_holders *h, char err[MW_HOLDERS_ERROR])
{
	pid_t me = mw_sys_getpid(), was = __atomic_load_n(&job.asker, __ATOMIC_RELAXED);
	const char *missing;
	enum mw_holders_is is = look_for_ruby(api, err);

	*h = (struct mw_holders){ 0 };
	if (is != MW_HOLDERS_OK)
		return is;
	if (!mw_walk_ruby_find(&missing))
		return mw_holders_fail(MW_HOLDERS_UNKNOWN, err, "holders: this Ruby lacks %s", missing);
	if (was == me ||
	    !__atomic_compare_exchange_n(&job.asker, &was, me, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return mw_holders_fail(MW_HOLDERS_BUSY, err,
				       "holders: another search is under way: try again later");
	job.api = api;
	job.question = q;
	is = ask_by_job(api, h, err);
	__atomic_store_n(&job.state, IDLE, __ATOMIC_RELEASE);
	__atomic_store_n(&job.asker, 0, __ATOMIC_RELEASE);
	return is;
}
