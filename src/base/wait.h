/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait.h - waiting for another thread's few instructions, by looking again and again.
 *
 * No lock, so nothing is to be righted after a fork; no cancellation point. An allocation
 * waits for nothing: src/track/README says what does, and for how long.
 */
#ifndef MW_BASE_WAIT_H
#define MW_BASE_WAIT_H

#include <stdbool.h>
#include <time.h>

/* Lets another thread run, also one of lower priority. turns: 0 before the first time. */
void mw_let_run(unsigned *turns);
/* Has that time of CLOCK_MONOTONIC come? */
bool mw_is_past(const struct timespec *);

#endif
