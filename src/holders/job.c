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

#include "base/clock.h"
#include "base/sys.h"
#include "fail.h"
#include "ruby.h"

enum { IDLE, WANTED, TAKEN, DONE };

enum { NUDGE_FIRST_MS = 50, NUDGE_MS = 500 };

/* What is wanted. Whoever moved `state` to TAKEN, or to WANTED, writes the rest. */
static struct {
	pid_t asker;    /* the process with a thread in mw_holders_ask; acquire, release */
	uint32_t state; /* acquire, release; a futex */
	const struct mw_api *api;
	const uint32_t *ids;
	size_t n;
	struct mw_holders_child child;
	enum mw_holders_is is;
	char err[MW_HOLDERS_ERROR];
} job;

static bool move(uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&job.state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* In a Ruby thread, with the GVL. */
static void run(void *unused)
{
	(void)unused;
	if (__atomic_load_n(&job.asker, __ATOMIC_ACQUIRE) != mw_sys_getpid() || !move(WANTED, TAKEN))
		return;
	job.is = mw_holders_begin(&job.child, job.api, job.ids, job.n, job.err);
	__atomic_store_n(&job.state, DONE, __ATOMIC_RELEASE);
	mw_sys_futex_wake(&job.state);
}

/* Has Ruby call run(); false: it can't. */
static bool trigger(void)
{
	static unsigned handle; /* + 1; only an asking thread writes it */

	if (mw_walk_ruby.rb_postponed_job_preregister && mw_walk_ruby.rb_postponed_job_trigger) {
		if (!handle)
			handle = mw_walk_ruby.rb_postponed_job_preregister(0, run, NULL) + 1;
		mw_walk_ruby.rb_postponed_job_trigger(handle - 1);
		return true;
	}
	return mw_walk_ruby.rb_postponed_job_register_one &&
	       mw_walk_ruby.rb_postponed_job_register_one(0, run, NULL);
}

/*
 * Interrupts a system call of the main thread, as Ruby does itself, by the signal that it keeps for
 * that: a thread that wakes up looks for jobs. Not if Ruby has no handler for it.
 */
static void nudge(void)
{
	struct sigaction is;
	pid_t main = mw_sys_getpid();

	if (sigaction(SIGVTALRM, NULL, &is) == 0 && is.sa_handler != SIG_DFL && is.sa_handler != SIG_IGN)
		mw_sys(SYS_tgkill, main, main, SIGVTALRM, 0, 0);
}

/* Waits until the job is done; false: not in time, and it never begins. */
static bool wait_for_job(void)
{
	uint64_t now = mw_now_ns(), until = now + (uint64_t)MW_HOLDERS_JOB_SECONDS * 1000000000;
	uint64_t next = now + (uint64_t)NUDGE_FIRST_MS * 1000000;
	uint32_t is;

	while ((is = __atomic_load_n(&job.state, __ATOMIC_ACQUIRE)) != DONE) {
		now = mw_now_ns();
		if (now > until && move(WANTED, IDLE))
			return false;
		if (now > next && is == WANTED) {
			trigger();
			nudge();
			next = now + (uint64_t)NUDGE_MS * 1000000;
		}
		mw_sys_futex_wait(&job.state, is, (uint64_t)NUDGE_FIRST_MS * 1000000);
	}
	return true;
}

static enum mw_holders_is ask(const struct mw_api *api, struct mw_holders *h, char err[MW_HOLDERS_ERROR])
{
	enum mw_holders_is is;

	__atomic_store_n(&job.state, WANTED, __ATOMIC_RELEASE);
	if (!trigger())
		return mw_holders_fail(MW_HOLDERS_UNKNOWN, err, "holders: this Ruby takes no jobs");
	if (!wait_for_job())
		return mw_holders_fail(
			MW_HOLDERS_FAILED, err,
			"holders: no Ruby thread ran within 10 seconds: try again while the application works");
	is = job.is;
	if (is != MW_HOLDERS_OK)
		return mw_holders_fail(is, err, "%s", job.err);
	return mw_holders_end(&job.child, api, NULL, h, err);
}

enum mw_holders_is mw_holders_ask(const struct mw_api *api, const uint32_t *ids, size_t n,
				  struct mw_holders *h, char err[MW_HOLDERS_ERROR])
{
	pid_t me = mw_sys_getpid(), was = __atomic_load_n(&job.asker, __ATOMIC_RELAXED);
	const char *missing;
	enum mw_holders_is is;
	struct mw_stats stats;

	*h = (struct mw_holders){ 0 };
	api->stats(&stats);
	if (!strcmp(stats.ruby_lookup, "none"))
		return mw_holders_fail(MW_HOLDERS_UNKNOWN, err, "holders: no Ruby runs in this process");
	if (strcmp(stats.ruby_lookup, "fast") && strcmp(stats.ruby_lookup, "public"))
		return mw_holders_fail(MW_HOLDERS_FAILED, err, "holders: Ruby isn't up yet: try again");
	if (!mw_walk_ruby_find(&missing))
		return mw_holders_fail(MW_HOLDERS_UNKNOWN, err, "holders: this Ruby lacks %s", missing);
	if (was == me ||
	    !__atomic_compare_exchange_n(&job.asker, &was, me, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return mw_holders_fail(MW_HOLDERS_BUSY, err,
				       "holders: another search is under way: try again later");
	job.api = api;
	job.ids = ids;
	job.n = n;
	is = ask(api, h, err);
	__atomic_store_n(&job.state, IDLE, __ATOMIC_RELEASE);
	__atomic_store_n(&job.asker, 0, __ATOMIC_RELEASE);
	return is;
}
