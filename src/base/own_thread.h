/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_thread.h - threads of the tracker's own: how they start, and the step
 * in them that a fork must not cut in two.
 *
 * A thread of ours that, say, loads a library holds locks that a forked child
 * would find held for ever. Such work is a step: either fork sees that it is
 * under way and waits, or the step sees the fork and lets it go first. For
 * threads of server.c and dumper.c, and what starts their like.
 */
#ifndef MW_BASE_OWN_THREAD_H
#define MW_BASE_OWN_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "compiler.h"

/*
 * A detached thread that runs none of the app's handlers: every signal is
 * blocked in it. stack in bytes; libraries' thread-local data comes out of
 * it, too. 0, or an errno.
 */
int mw_own_thread(void *(*run)(void *), size_t stack);

/*
 * The first thing in each of them: `top -H` and ps(1) show it as "mwrap", and not by
 * the name of the app's thread that started it; and mw_own_thread_here is true.
 */
void mw_own_thread_begin(void);
/* Is the calling thread one of ours? */
extern MW_HIDDEN __thread bool mw_own_thread_here __attribute__((tls_model("initial-exec")));

/* Sleeps for a millisecond. */
void mw_nap(void);

/* All zero at first. One thread at a time takes the step, any number fork. */
struct mw_step {
	uint32_t under_way;
	uint32_t forking; /* threads between before_fork and after_fork */
};

/* Begin waits, without an end, while a thread forks. */
void mw_step_begin(struct mw_step *);
void mw_step_end(struct mw_step *);

/*
 * Around the real call, in the forking thread. Before waits until that time of
 * CLOCK_MONOTONIC at most: this thread may be in a library's constructor, and
 * so hold the dynamic linker's lock, which the step waits for. After a fork
 * the child's step is not under way: its thread doesn't exist there.
 */
void mw_step_before_fork(struct mw_step *, const struct timespec *until);
void mw_step_after_fork(struct mw_step *, int child);

#endif
