/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stopped.c - does the line that a growth is told of still grow? See judge.h.
 *
 * A cache that is full, or a batch that is done, ends a growth of which most may be long ago. The line's own curve
 * shows that before any steady course of all memory does.
 */
#include "judge.h"

#define STEPS 2.0 /* as long as the longest time between two: the next one is overdue */
#define HALF_LEAST 0.1 /* of all growth: so much came in the second half of the time */
#define LATE_LEAST 0.3 /* of what the growth before would have given since */

enum {
	CANDIDATES = 8, /* their courses are looked at */
	LITTLE = 200, /* of the growth */
	LATE_SECONDS = 60, /* that it must be still, at least */
	LATE_PART = 8,     /* and so much of the time that is told of */
	FELL_PART = 4      /* of what is told to have grown: if it falls by so much, it doesn't grow */
};

/* The highest value so far, when it came, and the longest time that it took for a new one, higher by a little at least. */
struct records {
	double t, v, gap;
};

static struct records records_of(const struct mw_look *l, size_t n, double from, double little)
{
	struct records r = { 0 };
	bool known = false;

	for (size_t i = 0; i < n && l->t[i] <= l->scale->to; i++) {
		if (l->t[i] <= from || !known) {
			r = (struct records){ l->t[i], l->v[i], 0 };
			known = true;
		} else if (l->v[i] > r.v + little) {
			r.gap = mw_larger(r.gap, l->t[i] - r.t);
			r.t = l->t[i];
			r.v = l->v[i];
		}
	}
	return r;
}

static double highest(const struct mw_look *l, size_t n, double from, double to)
{
	double most = 0;

	for (size_t i = 0; i < n && l->t[i] <= to; i++)
		if (l->t[i] >= from || (i + 1 < n && l->t[i + 1] > from))
			most = mw_larger(most, l->v[i]);
	return most;
}

/* The rise of the highest in the last seconds. */
static double rise_late(const struct mw_look *l, size_t n, double since, double late)
{
	double to = l->scale->to;

	return highest(l, n, since, to) - highest(l, n, since, to - late);
}

/* A rise by steps may be between two. A value that also falls has highs of any height, so it must miss them longer. */
static bool stopped(const struct mw_look *l, size_t n, const struct records *r, double since, double rate)
{
	double to = l->scale->to, late = mw_larger(LATE_SECONDS, (to - since) / LATE_PART);
	bool fell = mw_proof_fell(l->v, n, l->least);

	if (fell)
		late *= 2;
	return (to - since >= 1.5 * late && to - r->t >= STEPS * r->gap &&
		rise_late(l, n, since, late) < rate * late * LATE_LEAST) ||
	       (!fell && rise_late(l, n, since, (to - since) / 2) < rate * (to - since) * HALF_LEAST);
}

bool mw_curve_stopped(const struct mw_evidence *e, const struct mw_look *l, const struct mw_curve *c,
		      double since, double gain)
{
	size_t n = mw_look_curve(l, c);
	struct records r = records_of(l, n, since, gain / LITTLE);
	double lasts = mw_larger(l->scale->to - since, 1), rate = gain / lasts, apart = STEPS * r.gap;

	/* proofs of a third of the time know more than gaps, which garbage makes, too */
	apart = apart < lasts / 3 ? apart : lasts / 3;
	return stopped(l, n, &r, since, rate) ||
	       mw_held_rate(e->held, c->location, c->location_len, apart) < rate * LATE_LEAST;
}

bool mw_line_stopped(const struct mw_evidence *e, const struct mw_look *l,
		     const struct mw_verdict_location *at, double since)
{
	const struct mw_curve *c = mw_look_find(l, at->location, at->len);

	return c && mw_curve_stopped(e, l, c, since, at->change);
}

double mw_line_late(const struct mw_look *l, const struct mw_verdict_location *at, double from)
{
	const struct mw_curve *c = mw_look_find(l, at->location, at->len);

	return c ? rise_late(l, mw_look_curve(l, c), l->scale->from, l->scale->to - from) : at->change;
}

/* Fills t[] and v[] with the series of what is told to grow. */
static size_t series_of(const struct mw_look *l, const struct mw_accused *a)
{
	const struct mw_curve *c = a->len ? mw_look_find(l, a->location, a->len) : NULL;

	if (!a->len)
		return mw_look_series(l, a->part);
	return c ? mw_look_curve(l, c) : 0;
}

bool mw_accused_stopped(const struct mw_evidence *e, const struct mw_look *looks, size_t n)
{
	const struct mw_accused *a = e->accused;
	const struct mw_look *l = &looks[n - 1];
	double gain, to = l->scale->to;
	struct records r;
	size_t len;

	if (!a || a->part == MW_PART_RSS)
		return false;
	for (size_t i = n; i--;)
		if (looks[i].scale->from <= a->since)
			l = &looks[i];
	gain = a->rate * (to - a->since);
	len = series_of(l, a);
	r = records_of(l, len, a->since, gain / LITTLE);
	return a->doubled || r.v - mw_look_last(l, len) > gain / FELL_PART ||
	       stopped(l, len, &r, a->since, a->rate);
}

bool mw_next_line(const struct mw_evidence *e, struct mw_look *l)
{
	const struct mw_curve *best[CANDIDATES];
	double change[CANDIDATES], less, to = l->scale->to;
	size_t n =
		mw_look_changed(l, l->scale->from, to, mw_trend_change, best, change, CANDIDATES, &less);

	for (size_t i = 0; i < n && change[i] >= l->least; i++) {
		struct mw_trend t;

		mw_trend_of(&t, l->t, l->v, mw_look_curve(l, best[i]), l->scale->from, to, l->least);
		if (t.course != MW_COURSE_RISES ||
		    t.gain < mw_larger(l->trend[MW_PART_RSS].level / 100, l->least) ||
		    mw_curve_stopped(e, l, best[i], t.since, t.gain))
			continue;
		l->top = best[i];
		l->line = t;
		l->by_line = true;
		return true;
	}
	return false;
}
