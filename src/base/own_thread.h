/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_thread.h - the tracker's own threads: their first call, and the step in them that a fork
 * must not cut in two. thread.h starts them.
 *
 * An own thread that loads a library, for example, holds locks that a forked child would find
 * held for ever. This work is a step: either fork sees the step under way and waits, or the
 * step sees the fork and lets it go first. For the threads of server.c and dumper.c, and their
 * starters.
 */
#ifndef MW_BASE_OWN_THREAD_H
#define MW_BASE_OWN_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/*
 * The first call in each own thread. `top -H` and ps(1) then show it as "mwrap", not by the name
 * of the app's thread that started it. mw_own_thread_here is true from then on.
 */
void mw_own_thread_begin(void);
/* Is the calling thread one of the tracker's own? */
extern MW_HIDDEN __thread bool mw_own_thread_here __attribute__((tls_model("initial-exec")));

/* The calling thread gets a lower priority: the app's threads go first. */
void mw_own_thread_step_back(void);

/* Sleeps for a millisecond. */
void mw_nap(void);

/* All zero at first. One thread at a time takes the step; any number of threads fork. */
struct mw_step {
	uint32_t under_way;
	uint32_t forking; /* threads between before_fork and after_fork */
};

/* mw_step_begin waits while a thread forks, without a limit. */
void mw_step_begin(struct mw_step *);
void mw_step_end(struct mw_step *);

/*
 * Around the real fork, in the forking thread. mw_step_before_fork waits until that moment of
 * mw_now_ns at most: this thread may be in a library's constructor and hold the dynamic linker's
 * lock, which the step waits for. In the child the step is not under way: its thread doesn't
 * exist there.
 */
void mw_step_before_fork(struct mw_step *, uint64_t until);
void mw_step_after_fork(struct mw_step *, int child);

#endif
