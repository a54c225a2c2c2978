/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "threads.h"

#include <errno.h>

#include "shared/sys/log.h"
#include "tracker/base/own_thread.h"
#include "shared/sys/sys.h"
#include "shared/sys/thread.h"
#include "linker_state.h"
#include "process.h"
#include "tracker/real/own_blocks.h"
#include "tracker/track/track.h"

/* --- one thread -------------------------------------------------------------------------- */

struct start {
	void *(*run)(void *);
	void *arg;
};

static void *begin_own_thread(void *start)
{
	struct start s = *(struct start *)start;
	void *result;

	mw_own_thread_begin();
	mw_own_blocks_only();
	mw_own_free(start);
	result = s.run(s.arg);
	mw_own_thread_end();
	return result;
}

/* Makes *s, for begin_own_thread, which frees it. Returns 0, or an errno: there is none. */
static int coming(struct start **s, void *(*run)(void *), void *arg)
{
	if (!mw_linker_starts_threads())
		return EAGAIN;
	*s = mw_own_alloc(1, sizeof(**s));
	if (!*s)
		return ENOMEM;
	**s = (struct start){ run, arg };
	mw_own_thread_coming();
	return 0;
}

static int came(struct start *s, int error)
{
	if (error) {
		mw_own_thread_not_coming();
		mw_own_free(s);
	}
	return error;
}

int mw_own_thread_start(void *(*run)(void *), void *arg, size_t stack)
{
	struct start *s;
	int e = coming(&s, run, arg);

	return e ? e : came(s, mw_thread_start(begin_own_thread, s, stack));
}

int mw_own_thread_run(void *(*run)(void *), void *arg, size_t stack, void **result)
{
	struct start *s;
	int e = coming(&s, run, arg);

	return e ? e : came(s, mw_thread_run(begin_own_thread, s, stack, result));
}

/* --- those that live as long as the process ------------------------------------------------ */

/* Puts `is` in the place of `was`. False: it isn't that. */
static bool becomes(struct mw_host_thread *t, uint32_t was, uint32_t is)
{
	return __atomic_compare_exchange_n(&t->is, &was, is, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}

/* The call that it should leave for may be over: then nobody may start it again but this. */
static bool stays(struct mw_host_thread *t)
{
	return !mw_own_must_leave() && becomes(t, MW_THREAD_LEFT, MW_THREAD_RUNS);
}

static void *run_host_thread(void *thread)
{
	struct mw_host_thread *t = thread;
	bool left;

	do {
		left = t->run();
		__atomic_store_n(&t->is, left ? MW_THREAD_LEFT : MW_THREAD_OVER, __ATOMIC_SEQ_CST);
	} while (left && stays(t));
	return NULL;
}

const char *mw_own_thread_refused(int error)
{
	if (!mw_linker_starts_threads())
		return "another thread was loading a library when this process was forked";
	if (error == EINVAL) /* its attributes are right: the kernel refuses it, clone(2) */
		return "this process makes a PID namespace for its children";
	return mw_sys_error(error);
}

static int create(struct mw_host_thread *t)
{
	int e;

	mw_quiet_enter();
	e = mw_own_thread_start(run_host_thread, t, t->stack);
	if (e) {
		__atomic_store_n(&t->is, MW_THREAD_OVER, __ATOMIC_RELEASE);
		mw_log("%s: %s", t->failed, mw_own_thread_refused(e));
	}
	mw_quiet_leave();
	return e;
}

int mw_host_thread_start(struct mw_host_thread *t)
{
	bool wait = mw_own_must_leave();

	if (mw_life != MW_ON)
		return 0;
	if (!becomes(t, MW_THREAD_NONE, wait ? MW_THREAD_LEFT : MW_THREAD_RUNS) &&
	    !becomes(t, MW_THREAD_OVER, wait ? MW_THREAD_LEFT : MW_THREAD_RUNS))
		return 0;
	return !wait || stays(t) ? create(t) : 0;
}

bool mw_host_thread_exists(const struct mw_host_thread *t)
{
	uint32_t is = __atomic_load_n(&t->is, __ATOMIC_ACQUIRE);

	return (is == MW_THREAD_RUNS || is == MW_THREAD_LEFT) && !mw_fork_missed();
}

bool mw_host_thread_back(struct mw_host_thread *t)
{
	return !becomes(t, MW_THREAD_LEFT, MW_THREAD_RUNS) || !create(t);
}
