/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "play_clock.h"

#define LONG_NS 20000.0
#define CALIBRATE_NS UINT64_C(2000000)

/* The least of some means: a mean that was interrupted is larger. */
static double own_ticks(void)
{
	enum { ROUNDS = 64, CALLS = 256 };
	double least = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t sum = 0;

		for (int j = 0; j < CALLS; j++) {
			uint64_t from = mw_ticks();

			__asm__ volatile("" ::: "memory");
			sum += mw_ticks() - from;
		}
		if ((double)sum / CALLS < least)
			least = (double)sum / CALLS;
	}
	return least;
}

static double ns_per_tick(const struct mw_play_clock *c)
{
	uint64_t ticks = mw_ticks() - c->start, ns = mw_now_ns() - c->start_ns;

	return ticks ? (double)ns / (double)ticks : 1;
}

void mw_play_clock_start(struct mw_play_clock *c)
{
	*c = (struct mw_play_clock){ .start = mw_ticks(), .start_ns = mw_now_ns() };
	c->own = own_ticks();
	while (mw_now_ns() - c->start_ns < CALIBRATE_NS)
		;
	c->ns_per_tick = ns_per_tick(c);
	c->long_ticks = (uint64_t)(LONG_NS / c->ns_per_tick);
	mw_play_clock_mark(c);
}

void mw_play_clock_mark(struct mw_play_clock *c)
{
	c->mark_cpu_ns = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	c->mark = mw_ticks();
}

void mw_play_clock_long(struct mw_play_clock *c, uint64_t ticks, uint64_t now)
{
	double wall = (double)(now - c->mark) * c->ns_per_tick,
	       ran = (double)(mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - c->mark_cpu_ns);
	double away = wall > ran ? (wall - ran) / c->ns_per_tick : 0;

	c->spent -= away < (double)ticks ? (uint64_t)away : ticks;
	mw_play_clock_mark(c);
}

double mw_play_clock_seconds(struct mw_play_clock *c)
{
	double ticks = (double)c->spent - c->own * (double)c->calls;

	return ticks > 0 ? ticks * ns_per_tick(c) / 1e9 : 0;
}
