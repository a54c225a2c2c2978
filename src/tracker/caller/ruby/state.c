/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

#include "shared/sys/clock.h"
#include "shared/sys/sys.h"
#include "jit.h"
#include "tracker/table/generation.h"

struct mw_ruby mw_ruby;
uint32_t mw_ruby_body;
bool mw_ruby_verified;
uint32_t mw_ruby_starts = 1;
struct mw_ruby_api mw_rb;
const char *mw_ruby_version;
const struct mw_ruby_above *mw_ruby_above;

static bool reserved; /* relaxed: a JIT may run */

void mw_ruby_becomes(uint32_t how)
{
	__atomic_store_n(&mw_ruby.how, how, __ATOMIC_RELEASE);
	mw_ruby_above->changed(); /* after `how`: a mode of malloc takes the fast way for granted */
}

/* False: it isn't `from`. */
static bool change_how(uint32_t from, uint32_t to)
{
	if (mw_get(&mw_ruby.how) != from ||
	    !__atomic_compare_exchange_n(&mw_ruby.how, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return false;
	mw_ruby_above->changed(); /* after `how`, as above */
	return true;
}

uintptr_t mw_ruby_start, mw_ruby_end;
struct mw_ruby_range mw_ruby_variables;

const char *mw_ruby_how_name(void)
{
	static const char *const names[] = { "none", "starting", "fast", "fast", "public", "ended" };

	return names[mw_get(&mw_ruby.how)];
}

const char *mw_ruby_count_name(void)
{
	switch (__atomic_load_n(&mw_ruby.how, __ATOMIC_ACQUIRE)) {
	case MW_RUBY_NONE:
		return "none";
	case MW_RUBY_STARTING:
		return "starting";
	case MW_RUBY_ENDED:
		return "ended";
	default:
		return mw_get(&mw_clock.asked) ? "call" : "memory";
	}
}

/* --- the VM comes up, and goes --------------------------------------------------------- */

static void vm_ended(void *vm)
{
	(void)vm;
	mw_set(&mw_clock.still, (uint32_t)mw_rb.rb_gc_count());
	__atomic_store_n(&mw_clock.now, &mw_clock.still, __ATOMIC_RELEASE);
	mw_set(&mw_clock.asked, false);
	mw_ruby_becomes(MW_RUBY_ENDED);
}

/*
 * Ruby frees what a job is noted in before it says that the VM ends. So no thread of ours asks for one from the end of
 * Ruby's code on. Sequentially consistent: either an asker sees `ending`, or the end sees the asker, and waits.
 */
static bool ending;
static uint32_t askers;

enum { ASKERS_MS = 100 }; /* a fork may have left one behind in the parent */

/* The last of Ruby's at_exit blocks, since it was the first to be registered. */
static void code_ended(mw_value unused)
{
	uint64_t until = mw_now_ns() + ASKERS_MS * UINT64_C(1000000);

	(void)unused;
	__atomic_store_n(&ending, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&askers, __ATOMIC_SEQ_CST) && mw_now_ns() < until)
		mw_sys_nap();
}

void mw_ruby_await_end(void)
{
	mw_rb.ruby_vm_at_exit(vm_ended);
	if (mw_rb.rb_set_end_proc)
		mw_rb.rb_set_end_proc(code_ended, 0);
}

/* Ruby calls a job at a safe point of its own. */
static struct job {
	void (*run)(void *); /* written before main */
	unsigned handle; /* for Rubies whose jobs must be registered before */
} jobs[MW_RUBY_JOBS];

void mw_ruby_job_runs(enum mw_ruby_job job, void (*run)(void *))
{
	jobs[job].run = run;
}

void mw_ruby_jobs_prepare(void)
{
	if (!mw_rb.rb_postponed_job_preregister)
		return;
	for (size_t i = 0; i < MW_RUBY_JOBS; i++)
		jobs[i].handle = mw_rb.rb_postponed_job_preregister(0, jobs[i].run, NULL);
}

static bool ask_for(void (*run)(void *), unsigned handle)
{
	if (mw_rb.rb_postponed_job_preregister && mw_rb.rb_postponed_job_trigger)
		mw_rb.rb_postponed_job_trigger(handle);
	else
		return mw_rb.rb_postponed_job_register_one &&
		       mw_rb.rb_postponed_job_register_one(0, run, NULL);
	return true;
}

void mw_ruby_ask_for(enum mw_ruby_job job)
{
	(void)ask_for(jobs[job].run, jobs[job].handle);
}

/* Ruby's functions may be called until let_go_of_ruby(): its end waits. False: it has ended, or has not begun. */
static bool hold(void)
{
	uint32_t how;

	__atomic_fetch_add(&askers, 1, __ATOMIC_SEQ_CST);
	how = mw_get(&mw_ruby.how);
	if (!__atomic_load_n(&ending, __ATOMIC_SEQ_CST) &&
	    (how == MW_RUBY_FAST || how == MW_RUBY_JIT || how == MW_RUBY_PUBLIC))
		return true;
	__atomic_fetch_sub(&askers, 1, __ATOMIC_SEQ_CST);
	return false;
}

static void let_go_of_ruby(void)
{
	__atomic_fetch_sub(&askers, 1, __ATOMIC_SEQ_CST);
}

bool mw_ruby_ask(void (*run)(void *))
{
	bool asked;

	if (!hold())
		return false;
	asked = ask_for(run, mw_rb.rb_postponed_job_preregister ?
				     mw_rb.rb_postponed_job_preregister(0, run, NULL) :
				     0);
	let_go_of_ruby();
	return asked;
}

bool mw_ruby_while(void (*f)(void *), void *ctx)
{
	if (!hold())
		return false;
	f(ctx);
	let_go_of_ruby();
	return true;
}

void mw_ruby_use_count(const uint32_t *count)
{
	bool ask = !count;

	if (ask) {
		mw_set(&mw_clock.still, (uint32_t)mw_rb.rb_gc_count());
		mw_set(&mw_clock.asked, true);
		mw_ruby_above->changed();
		count = &mw_clock.still;
	}
	__atomic_store_n(&mw_clock.now, count, __ATOMIC_RELEASE);
	if (!ask && mw_get(&mw_clock.asked)) {
		__atomic_store_n(&mw_clock.asked, false, __ATOMIC_RELEASE); /* after `now` */
		mw_ruby_above->changed();
	}
}

void mw_ruby_go_public(const char *why)
{
	if (!mw_ruby_reads())
		return;
	mw_set(&mw_ruby_verified, false);
	mw_ruby.why = why;
	if (!change_how(MW_RUBY_FAST, MW_RUBY_PUBLIC)) /* the VM may have ended meanwhile */
		(void)change_how(MW_RUBY_JIT, MW_RUBY_PUBLIC);
}

static bool late; /* relaxed: it left a frame without its pc */

void mw_ruby_jit_begins(void)
{
	mw_set(&reserved, true);
	if (mw_rb.rb_zjit_entry)
		(void)change_how(MW_RUBY_FAST, MW_RUBY_JIT);
}

bool mw_jit_may_run(void)
{
	return mw_get(&reserved);
}

bool mw_ruby_look_for_jit(void)
{
	if (!mw_get(&late))
		mw_set(&late, mw_jit_late() != MW_JIT_NOT_LATE);
	if (mw_zjit_runs() || mw_get(&late))
		return change_how(MW_RUBY_FAST, MW_RUBY_JIT);
	if (mw_yjit_runs()) /* no other can begin */
		(void)change_how(MW_RUBY_JIT, MW_RUBY_FAST);
	return false;
}
