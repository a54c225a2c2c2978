/* SPDX-License-Identifier: GPL-2.0-or-later */
/* change.c - how much a figure changed within a window of time. See trend.h. */
#include "trend.h"

#define UNKNOWN __builtin_nan("")

/* The least of v in each fifth of the time; a value holds until the next point. */
static void floors(double least[5], const double *t, const double *v, size_t n, double from, double to)
{
	double fifth = (to - from) / 5;

	for (int k = 0; k < 5; k++)
		least[k] = UNKNOWN;
	for (size_t i = 0; i < n && t[i] <= to; i++) {
		double end = i + 1 < n ? t[i + 1] : to;

		if (v[i] != v[i] || end < from)
			continue;
		for (int k = 0; k < 5; k++)
			if (t[i] <= from + fifth * (k + 1) && end >= from + fifth * k &&
			    !(least[k] <= v[i]))
				least[k] = v[i];
	}
}

double mw_trend_change(const double *t, const double *v, size_t n, double from, double to)
{
	double least[5];

	floors(least, t, v, n, from, to);
	return least[4] - least[0];
}

double mw_trend_difference(const double *t, const double *v, size_t n, double from, double to)
{
	double first = UNKNOWN, last = UNKNOWN;

	for (size_t i = 0; i < n && t[i] <= to; i++) {
		if (v[i] != v[i])
			continue;
		if (t[i] <= from || first != first)
			first = v[i];
		last = v[i];
	}
	return last - first;
}

/* The steady rise of these floors, over the whole time. */
static double steady(const double least[5])
{
	double most = 0, second = 0, all = least[4] - least[0];

	for (int k = 0; k < 4; k++) {
		double gain = least[k + 1] - least[k];

		second = gain > most ? most : gain > second ? gain : second;
		most = gain > most ? gain : most;
	}
	/* from the floor of the first fifth to that of the last one are four fifths of the time */
	return (all > 4 * second ? 4 * second : all) * 5 / 4;
}

double mw_trend_rise(const double *t, const double *v, size_t n, double from, double to)
{
	double least[5];

	floors(least, t, v, n, from, to);
	return steady(least);
}

/* The most that v falls from a point in [from, to] to a later one. */
static double deepest_fall(const double *t, const double *v, size_t n, double from, double to)
{
	double high = UNKNOWN, fall = 0;

	for (size_t i = 0; i < n && t[i] <= to; i++) {
		if (t[i] < from || v[i] != v[i])
			continue;
		if (!(v[i] <= high))
			high = v[i];
		fall = mw_larger(fall, high - v[i]);
	}
	return fall;
}

double mw_trend_sure_rise(const double *t, const double *v, size_t n, double from, double to, double rise)
{
	double fall = deepest_fall(t, v, n, from, to);
	struct mw_trend r;

	if (fall <= rise / 2)
		return rise;
	mw_trend_of(&r, t, v, n, from, to, mw_larger(fall / 16, 1));
	return r.course != MW_COURSE_RISES ? 0 : r.gain < rise ? r.gain : rise;
}

double mw_trend_rank(const double *t, const double *v, size_t n, double from, double to)
{
	double least[5], rise, lately;

	floors(least, t, v, n, from, to);
	rise = steady(least);
	/* from the middle fifth's floor to the last one's are two fifths of the time */
	lately = (least[4] - least[2]) * 5 / 2;
	if (rise > lately)
		rise = lately;
	if (rise > 0)
		return mw_trend_sure_rise(t, v, n, from, to, rise);
	/* less than a hundredth is drawn flat: it ranks so */
	return least[4] < least[0] * 0.99 ? least[4] - least[0] : 0;
}
