/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rests.c - values that neither rise nor fall. See rests.h. */
#include "rests.h"

static double absolute(double x)
{
	return x < 0 ? -x : x;
}

/* From the least to the most, from a point on. */
static double spread(const struct mw_floors *s, size_t from)
{
	double low = s->v[from], high = s->v[from];

	for (size_t i = from; i < s->n; i++) {
		low = s->v[i] < low ? s->v[i] : low;
		high = mw_larger(high, s->v[i]);
	}
	return high - low;
}

/* The first time after `from` at which v is near a level and stays so until `to`. */
static double settles(const struct mw_series *a, double from, double to, double level, double slack)
{
	double at = to;
	bool near = false;

	for (size_t i = 0; i < a->n && a->t[i] <= to; i++) {
		if (a->t[i] <= from || a->v[i] != a->v[i])
			continue;
		if (!near)
			at = a->t[i];
		near = absolute(a->v[i] - level) <= slack;
	}
	return near ? at : to;
}

/* The last time from `from` on until which v stays near a level, `to` at most. */
static double leaves(const struct mw_series *a, double from, double to, double level, double slack)
{
	double at = from;

	for (size_t i = 0; i < a->n && a->t[i] <= to; i++) {
		if (a->t[i] <= from || a->v[i] != a->v[i])
			continue;
		if (absolute(a->v[i] - level) > slack)
			break;
		at = a->t[i];
	}
	return at;
}

/* Where the line of the first n points begins; `middle` is their median. */
static double begins(const struct mw_floors *s, size_t n, double middle)
{
	struct mw_floors head = *s;

	if (n >= s->n)
		return middle;
	head.n = n;
	return middle - mw_floors_slope(&head, 0) * (s->t[n / 2] - s->t[0]);
}

/*
 * A step of the last minutes: flat before, but for the start, and flat since then for a while, if
 * not for a tenth of the time. A value that still moves has made none.
 */
static bool just_stepped(struct mw_trend *r, const struct mw_floors *s, const struct mw_series *all,
			 double slack)
{
	enum { LEAST_SECONDS = 10 };
	double last = s->v[s->n - 1], end = s->t[s->n - 1], before, gain, near;
	size_t flat = s->n, from = s->n / 4, i = from;

	before = mw_floors_median(s, s->t[from], s->t[s->n - s->n / 10 - 1]);
	gain = absolute(last - before);
	near = mw_larger(slack, gain / 20);
	if (gain <= 3 * slack)
		return false;
	while (flat && absolute(s->v[flat - 1] - last) <= near)
		flat--;
	while (i < flat && absolute(s->v[i] - before) <= near)
		i++;
	if (i + 2 < flat || flat < s->n / 2)
		return false;
	r->since = settles(all, s->t[i - 1], all->t[all->n - 1], last, mw_larger(slack, gain / 50));
	if (mw_larger(end, all->t[all->n - 1]) - r->since < LEAST_SECONDS)
		return false;
	r->course = MW_COURSE_STEP;
	r->begun = leaves(all, s->t[i - 1], r->since, before, near);
	r->gain = last - before;
	r->level = last;
	return true;
}

/* Flat but for a little that came of late, which nobody would call up and down. */
static bool is_flat_enough(struct mw_trend *r, const struct mw_floors *s, const struct mw_series *all,
			   double now, double slack)
{
	size_t flat = s->n;

	while (flat && absolute(s->v[flat - 1] - now) <= slack)
		flat--;
	if ((s->n - flat) * 2 < s->n || spread(s, flat) > absolute(now) / 50)
		return false;
	r->course = MW_COURSE_FLAT;
	r->since = flat ? settles(all, s->t[flat - 1], s->t[flat], now, slack) : s->t[0];
	r->begun = r->since;
	return true;
}

void mw_rests(struct mw_trend *r, const struct mw_floors *s, const struct mw_series *all, double slack)
{
	size_t tenth = s->n / 10 > 3 ? s->n / 10 : 3, flat = s->n, left = 0;
	double before = mw_floors_median(s, s->t[0], s->t[tenth < s->n ? tenth - 1 : s->n - 1]), near;
	double now = mw_floors_median(s, s->t[s->n > tenth ? s->n - tenth : 0], s->t[s->n - 1]);

	/* beside a change a little is nothing */
	if (absolute(now - before) > 3 * slack)
		slack = mw_larger(slack, mw_larger(absolute(now - before) / 100, absolute(now) / 400));
	while (flat && absolute(s->v[flat - 1] - now) <= slack)
		flat--;
	near = mw_larger(slack, absolute(now - before) / 50);
	while (left < s->n && absolute(s->v[left] - before) <= near)
		left++;
	r->level = now;
	r->confidence = (double)s->n / (double)(s->n + 2);
	r->since = s->t[flat < s->n ? flat : s->n - 1];
	if (flat)
		r->since = settles(all, s->t[flat - 1], r->since, now, slack);
	r->begun = r->since;
	if (s->n - flat < 3 || (s->n - flat) * 10 < s->n) {
		if (just_stepped(r, s, all, slack))
			return;
		if (is_flat_enough(r, s, all, now, 4 * slack))
			return;
		r->course = MW_COURSE_TEETH;
		r->since = r->begun = s->t[0];
		return;
	}
	/* within the noise, but nobody would call it flat */
	r->course = spread(s, flat) > absolute(now) / 10 ? MW_COURSE_TEETH : MW_COURSE_FLAT;
	if (!flat || absolute(now - before) <= 3 * slack)
		return;
	r->gain = now - (left ? before : begins(s, tenth, before));
	r->begun = left ? leaves(all, s->t[left - 1], r->since, before, near) : s->t[0];
	r->course = flat < left + 3 || r->since - r->begun < (s->t[s->n - 1] - s->t[0]) / 20 ?
			    MW_COURSE_STEP :
			    MW_COURSE_ROSE;
}
