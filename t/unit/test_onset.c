/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a rise began, in processes that start, rest for twice as long, and then leak. The start may be
 * a step or a ramp of some seconds, and its first second may miss. SEED=N makes the same processes.
 */
/* uses: src/server/verdict/trend.c src/server/verdict/floors.c src/server/verdict/rests.c */
#include "unit.h"
#include "server/verdict/trend.h"

enum { PROCESSES = 2000, SECONDS = 900 };

static uint64_t seed; /* xorshift */

static double rnd(double from, double to)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return from + (to - from) * (double)(seed >> 11) / (double)(1ull << 53);
}

/* One process, seen once a second. */
struct life {
	double starts, steps; /* bytes that the start takes as a ramp, and at once in its first second */
	double started, leaks; /* times */
	double rate, noise; /* bytes */
	size_t n;
};

static struct life any_life(void)
{
	struct life l = { .starts = rnd(0, 20e6), .steps = rnd(0, 20e6), .started = rnd(0, 8) };

	l.leaks = 3 * l.started + rnd(12, 60);
	l.rate = rnd(50e3, 1e6);
	l.noise = rnd(0, l.rate / 10);
	l.n = (size_t)(l.leaks * rnd(4, 8));
	return l;
}

static double value(const struct life *l, double t)
{
	double ramp = l->started > 0 && t < l->started ? t / l->started : 1;

	return 2e6 + l->starts * ramp + (t >= 1 ? l->steps : 0) +
	       (t > l->leaks ? (t - l->leaks) * l->rate : 0) + rnd(0, l->noise);
}

TEST(a_rise_begins_after_the_rest)
{
	static double t[SECONDS], v[SECONDS];

	for (int i = 0; i < PROCESSES; i++) {
		uint64_t of = seed;
		struct life l = any_life();
		struct mw_trend r;
		double end, off;

		l.n = l.n < SECONDS ? l.n : SECONDS;
		for (size_t k = 0; k < l.n; k++) {
			t[k] = (double)k;
			v[k] = value(&l, t[k]);
		}
		end = t[l.n - 1];
		mw_trend_of(&r, t, v, l.n, 0, end, 128 * 1024);
		off = r.since - l.leaks;
		if (r.course == MW_COURSE_RISES && (off < 0 ? -off : off) <= 2 * end / MW_TREND_BINS + 1)
			continue;
		fail_msg("SEED=%llu: course %d since %.1f, not %.1f of %.0f s: a start of %.1f s, %.0f and %.0f bytes, "
			 "a leak of %.0f a second, noise %.0f",
			 (unsigned long long)of, (int)r.course, r.since, l.leaks, end, l.started,
			 l.starts, l.steps, l.rate, l.noise);
	}
}

static void plant(void)
{
	seed = unit_seed();
}

ALL(plant, NULL);
