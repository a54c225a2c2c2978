/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "estimated.h"

#include "shared/sys/root.h"

enum { DEVIATIONS = 3, RANGE = 5 /* deviations, from the least to the largest value */, KIB = 1024 };

/* The value to show, if `held` was shown last. All in bytes. */
static double hold(double held, double is, double rate)
{
	double by = is > held ? is - held : held - is, larger = is > held ? is : held;

	return by < DEVIATIONS * mw_root(rate * larger) ? held : is;
}

void mw_estimated_points(struct mw_point *p, size_t n, uint64_t rate)
{
	double held = n && p[0].live != MW_KIB_UNKNOWN ? (double)p[0].live * KIB : 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i].live == MW_KIB_UNKNOWN)
			continue;
		held = hold(held, (double)p[i].live * KIB, (double)rate);
		p[i].live = (uint32_t)(held / KIB);
	}
}

/* True if it changes by more than chance does in the long run, and by enough samples. */
static bool hold_bytes(uint64_t *v, size_t n, uint64_t rate)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < n; i++) {
		if (i)
			v[i] = (uint64_t)hold((double)v[i - 1], (double)v[i], (double)rate);
		least = v[i] < least ? v[i] : least;
		most = v[i] > most ? v[i] : most;
	}
	return n && most - least >= MW_ESTIMATED_SAMPLES * rate &&
	       (double)(most - least) >= RANGE * mw_root((double)rate * (double)most);
}

void mw_estimated_curves(struct mw_curve_set *set, uint64_t rate)
{
	size_t kept = 0;

	/* a set's numbers are copies: they are its owner's to change */
	for (size_t i = 0; i < set->n; i++)
		if (hold_bytes((uint64_t *)(uintptr_t)set->v[i].bytes, set->v[i].n, rate))
			set->v[kept++] = set->v[i];
	set->n = kept;
	(void)hold_bytes((uint64_t *)(uintptr_t)set->rest_bytes, set->rest_n, rate);
}
