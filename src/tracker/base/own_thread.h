/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_thread.h - the tracker's own threads: their first and last call, how they leave, and the step in
 * them that a fork must not cut in two. thread.h starts them.
 *
 * An own thread that loads a library, for example, holds locks that a forked child would find
 * held for ever. This work is a step: either fork sees the step under way and waits, or the
 * step sees the fork and lets it go first. For the threads of server.c and dumper.c, and their
 * starters.
 *
 * The kernel keeps users, capabilities and namespaces for each thread. The C library changes a user in
 * all threads, and aborts if the kernel refuses it in one of them. A thread of ours would lack what
 * the app gave its own thread just before. So own threads leave before a call of that kind, and begin anew after it,
 * as threads of the caller: tracker/process/rights.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/sys/compiler.h"
#include "shared/sys/ranks.h"

/*
 * The first and the last call in each own thread. `top -H` and ps(1) then show it as "mwrap", not by the
 * name of the app's thread that started it. mw_own_thread_here is true from the first on: what the C library frees as
 * a thread ends is still a call of ours.
 */
void mw_own_thread_begin(void);
void mw_own_thread_end(void);
/* Is the calling thread one of the tracker's own? */
extern MW_HIDDEN __thread bool mw_own_thread_here __attribute__((tls_model("initial-exec")));

/* CPU time of the process's own threads so far, in ns. Any thread. One that ends meanwhile may count twice, or not at all. */
uint64_t mw_own_threads_ns(void);

/* Each thread that is about to be started counts from here on until its mw_own_thread_begin. */
void mw_own_thread_coming(void);
void mw_own_thread_not_coming(void); /* it can't be started */

/* True: the calling own thread must end as soon as it can, and keep what it needs to go on. */
bool mw_own_must_leave(void);
/* An own thread sleeps until that moment of mw_now_ns. False: it must leave first. */
bool mw_own_sleep_until(uint64_t ns);

/*
 * Around a call during which no own thread may exist. Any thread of the app; calls may overlap. leave asks own
 * threads to end, also those that begin meanwhile. Once woken (see rights.c), mw_own_threads_gone is true when
 * the kernel has no task of these threads any more; false: not until that moment. back is true for the last of such calls:
 * it lets them begin anew.
 */
bool mw_own_threads_exist(void);
void mw_own_threads_leave(void);
bool mw_own_threads_gone(uint64_t until);
bool mw_own_threads_back(void);
/* In a forked child: was that task of the kernel's an own thread of the parent's? Not after the next call. */
bool mw_own_thread_was(uint32_t task);
/* In a forked child there are none. */
void mw_own_threads_child(void);

/* Sleeps for a millisecond. */
void mw_nap(void);

/* All zero at first. One thread at a time takes the step; any number of threads fork. */
struct mw_step {
	uint32_t under_way;
	uint32_t forking; /* threads between before_fork and after_fork */
	uint32_t stuck; /* a fork gave up waiting for this step: the next ones don't wait */
};

/* Waits while a thread forks, without a limit. */
void mw_step_enter(struct mw_step *);
void mw_step_leave(struct mw_step *);
static inline void mw_step_begin(struct mw_step *s, enum mw_rank rank)
{
	mw_rank_wait(rank);
	mw_step_enter(s);
	mw_rank_took(rank);
}
static inline void mw_step_end(struct mw_step *s, enum mw_rank rank)
{
	mw_rank_left(rank);
	mw_step_leave(s);
}

/*
 * Around the real fork, in the forking thread. mw_step_before_fork waits until that moment of
 * mw_now_ns at most: this thread may be in a library's constructor and hold the dynamic linker's
 * lock, which the step waits for. In the child the step is not under way: its thread doesn't
 * exist there.
 */
void mw_step_wait(struct mw_step *, uint64_t until);
void mw_step_go_on(struct mw_step *, int child);
static inline void mw_step_before_fork(struct mw_step *s, enum mw_rank rank, uint64_t until)
{
	mw_rank_wait(rank);
	mw_step_wait(s, until);
	mw_rank_took(rank);
}
static inline void mw_step_after_fork(struct mw_step *s, enum mw_rank rank, int child)
{
	mw_rank_left(rank);
	mw_step_go_on(s, child);
}
