/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_thread.c - the tracker's own threads, and fork: see own_thread.h.
 */
#include "own_thread.h"

#include <string.h>

#include "shared/sys/atomics.h"
#include "shared/sys/clock.h"
#include "shared/sys/libc.h"
#include "shared/sys/sys.h"
#include "wait.h"

__thread bool mw_own_thread_here __attribute__((tls_model("initial-exec")));

/* --- which exist ------------------------------------------------------------------------- */

/* A thread's task in the kernel: its number, 0: free. ENDS: it has nothing to do any more. */
enum { THREADS_MAX = 64 };
#define ENDS (UINT32_C(1) << 31)
static uint32_t tasks[THREADS_MAX]; /* claimed by compare and swap; seq_cst */
static uint32_t coming; /* threads that are being started, or have no place in tasks[]; seq_cst */
static uint32_t leaving; /* calls under way during which none may exist; also a futex; seq_cst */
static uint64_t ended_ns; /* CPU time of those that ended; relaxed */
static pid_t process; /* the owner of the threads; relaxed */
static __thread uint32_t *my_task __attribute__((tls_model("initial-exec")));

static bool task_is_gone(uint32_t task)
{
	return mw_sys(SYS_tgkill, mw_sys_getpid(), (long)task, 0, 0, 0) != 0 && errno == ESRCH;
}

/* Frees the places of tasks that have ended. True: none is left. */
static bool look_at_tasks(void)
{
	bool none = __atomic_load_n(&coming, __ATOMIC_SEQ_CST) == 0;

	for (int i = 0; i < THREADS_MAX; i++) {
		uint32_t is = __atomic_load_n(&tasks[i], __ATOMIC_SEQ_CST);

		if (is & ENDS && task_is_gone(is & ~ENDS))
			(void)__atomic_compare_exchange_n(&tasks[i], &is, 0, false, __ATOMIC_SEQ_CST,
							  __ATOMIC_SEQ_CST);
		else if (is)
			none = false;
	}
	return none;
}

static uint32_t *claim(uint32_t task)
{
	for (int i = 0; i < THREADS_MAX; i++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&tasks[i], &none, task, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return &tasks[i];
	}
	return NULL;
}

void mw_own_thread_coming(void)
{
	mw_set(&process, mw_sys_getpid());
	__atomic_fetch_add(&coming, 1, __ATOMIC_SEQ_CST);
}

void mw_own_thread_not_coming(void)
{
	__atomic_fetch_sub(&coming, 1, __ATOMIC_SEQ_CST);
}

void mw_own_thread_begin(void)
{
	uint32_t task = (uint32_t)mw_sys(SYS_gettid, 0, 0, 0, 0, 0);

	mw_own_thread_here = true;
	mw_sys_name_thread("mwrap"); /* inherited by threads that this one starts */
	my_task = claim(task);
	if (!my_task) {
		(void)look_at_tasks();
		my_task = claim(task);
	}
	if (my_task)
		mw_own_thread_not_coming(); /* else it counts as one that comes until it ends */
}

/* The kernel's clock of a task's CPU time, as pthread_getcpuclockid makes it. */
static clockid_t clock_of(uint32_t task)
{
	enum { OF_THREAD = 4, SCHEDULED = 2 };

	return (clockid_t)(~task << 3 | OF_THREAD | SCHEDULED);
}

uint64_t mw_own_threads_ns(void)
{
	uint64_t sum = mw_get(&ended_ns);

	for (int i = 0; i < THREADS_MAX; i++) {
		uint32_t is = __atomic_load_n(&tasks[i], __ATOMIC_SEQ_CST);

		if (is && !(is & ENDS))
			sum += mw_clock_ns(clock_of(is));
	}
	return sum;
}

void mw_own_thread_end(void)
{
	mw_add(&ended_ns, mw_clock_ns(CLOCK_THREAD_CPUTIME_ID));
	if (my_task)
		__atomic_fetch_or(my_task, ENDS, __ATOMIC_SEQ_CST);
	else
		mw_own_thread_not_coming();
}

/* --- their leave -------------------------------------------------------------------------- */

bool mw_own_must_leave(void)
{
	return __atomic_load_n(&leaving, __ATOMIC_SEQ_CST) != 0;
}

bool mw_own_sleep_until(uint64_t ns)
{
	uint64_t now;

	while (!mw_own_must_leave()) {
		now = mw_now_ns();
		if (now >= ns)
			return true;
		mw_sys_futex_wait(&leaving, 0, ns - now);
	}
	return false;
}

bool mw_own_threads_exist(void)
{
	/* a child of vfork(2) shares this memory, and has no thread of ours */
	return mw_get(&process) && !look_at_tasks() && mw_get(&process) == mw_sys_getpid();
}

void mw_own_threads_leave(void)
{
	__atomic_fetch_add(&leaving, 1, __ATOMIC_SEQ_CST);
	mw_sys_futex_wake(&leaving);
}

bool mw_own_threads_gone(uint64_t until)
{
	unsigned turns = 0;

	while (!look_at_tasks()) {
		if (mw_is_past(until))
			return false;
		mw_let_run(&turns);
	}
	return true;
}

bool mw_own_threads_back(void)
{
	return __atomic_sub_fetch(&leaving, 1, __ATOMIC_SEQ_CST) == 0;
}

bool mw_own_thread_was(uint32_t task)
{
	for (int i = 0; i < THREADS_MAX; i++)
		if (task && __atomic_load_n(&tasks[i], __ATOMIC_SEQ_CST) == task)
			return true;
	return false;
}

void mw_own_threads_child(void)
{
	memset(tasks, 0, sizeof(tasks));
	coming = leaving = 0;
	ended_ns = 0;
	process = 0;
}

/* --- steps -------------------------------------------------------------------------------- */

void mw_nap(void)
{
	mw_sys_nap();
}

void mw_step_enter(struct mw_step *s)
{
	for (;;) {
		__atomic_store_n(&s->under_way, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&s->forking, __ATOMIC_SEQ_CST))
			return;
		mw_step_leave(s);
		mw_nap();
	}
}

void mw_step_leave(struct mw_step *s)
{
	__atomic_store_n(&s->stuck, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->under_way, 0, __ATOMIC_SEQ_CST);
}

void mw_step_wait(struct mw_step *s, uint64_t until)
{
	unsigned turns = 0;

	__atomic_fetch_add(&s->forking, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&s->under_way, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&s->stuck, __ATOMIC_SEQ_CST)) {
		if (mw_is_past(until))
			__atomic_store_n(&s->stuck, 1, __ATOMIC_SEQ_CST);
		else
			mw_let_run(&turns);
	}
}

void mw_step_go_on(struct mw_step *s, int child)
{
	if (child)
		*s = (struct mw_step){ 0 };
	else
		__atomic_fetch_sub(&s->forking, 1, __ATOMIC_SEQ_CST);
}
