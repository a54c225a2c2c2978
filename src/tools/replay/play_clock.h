/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * play_clock.h - the cheapest clock, and what the allocator's calls took by it.
 *
 * A call is some 20 ns, less than a reading of the thread's CPU time. So calls are measured by the CPU's
 * counter, which also runs while the thread doesn't. A call that took long is compared with the thread's CPU
 * time, and what the thread didn't run is taken off. One thread at a time.
 */
#pragma once

#include <stdint.h>

#include "shared/sys/ticks.h"

struct mw_play_clock {
	uint64_t spent, calls; /* ticks in calls, with the measurement's own */
	uint64_t start, start_ns; /* of the whole */
	uint64_t long_ticks; /* from so many on a call is compared */
	uint64_t mark, mark_cpu_ns; /* of the thread whose turn it is, when both clocks were read last */
	double own, ns_per_tick; /* ticks of a measurement that measures nothing */
};

/* Calibrates: some milliseconds. */
void mw_play_clock_start(struct mw_play_clock *);
/* Reads both clocks. Call it when another thread goes on, after a sleep, and now and then. */
void mw_play_clock_mark(struct mw_play_clock *);
/* A call took so long, until `now`. */
void mw_play_clock_long(struct mw_play_clock *, uint64_t ticks, uint64_t now);
/* Seconds in all calls so far. */
double mw_play_clock_seconds(struct mw_play_clock *);

static inline void mw_play_clock_add(struct mw_play_clock *c, uint64_t from, uint64_t to)
{
	uint64_t ticks = to - from;

	c->spent += ticks;
	c->calls++;
	if (__builtin_expect(ticks >= c->long_ticks, 0))
		mw_play_clock_long(c, ticks, to);
}
