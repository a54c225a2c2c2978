/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trend.c - teeth, changes of slope, rests. See trend.h.
 *
 * Squares are compared instead of roots, so that nothing of libm is needed.
 */
#include "floors.h"
#include "rests.h"

enum {
	PART_MIN = 3,      /* points of a straight part */
	POINTS_MIN = 5,    /* of a rise; five in order are chance once in 120 times */
	TEETH_MIN = 3
};
#define UNKNOWN __builtin_nan("")
#define MANN_KENDALL_Z2 4.8 /* the square of z; five points in order have 4.86 */
#define PART_PRICE 20.0     /* a further straight part must save so many variances */

static double absolute(double x)
{
	return x < 0 ? -x : x;
}

/* --- medians ---------------------------------------------------------------- */

static void swap(double *a, double *b)
{
	double x = *a;

	*a = *b;
	*b = x;
}

/* The k-th smallest of a[n]; reorders a. Hoare's selection. */
static double nth(double *a, size_t n, size_t k)
{
	ptrdiff_t from = 0, to = (ptrdiff_t)n - 1, at = (ptrdiff_t)k;

	while (from < to) {
		double pivot = a[from + (to - from) / 2];
		ptrdiff_t i = from, j = to;

		while (i <= j) {
			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i <= j)
				swap(&a[i++], &a[j--]);
		}
		if (at <= j)
			to = j;
		else if (at >= i)
			from = i;
		else
			break;
	}
	return a[k];
}

static double median(double *a, size_t n)
{
	return nth(a, n, n / 2);
}

double mw_floors_median(const struct mw_floors *s, double from, double to)
{
	double a[MW_TREND_BINS];
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->t[i] >= from && s->t[i] <= to)
			a[n++] = s->v[i];
	return n ? median(a, n) : UNKNOWN;
}

/* --- noise and straight parts ------------------------------------------------- */

/* The variance of a point around its neighbours' line, from the median of second differences. */
static double variance(const struct mw_floors *s)
{
	double d[MW_TREND_BINS];
	size_t n = 0;
	double m;

	for (size_t i = 1; i + 1 < s->n; i++) {
		double part = (s->t[i] - s->t[i - 1]) / (s->t[i + 1] - s->t[i - 1]);

		d[n++] = absolute(s->v[i] - s->v[i - 1] - part * (s->v[i + 1] - s->v[i - 1]));
	}
	if (!n)
		return 0;
	m = 1.4826 * median(d, n);
	return m * m / 1.5;
}

/* Sums over the points before i, relative to the first one. */
struct sums {
	double t[MW_TREND_BINS + 1], v[MW_TREND_BINS + 1];
	double tt[MW_TREND_BINS + 1], tv[MW_TREND_BINS + 1], vv[MW_TREND_BINS + 1];
};

static void sum_up_floors(struct sums *p, const struct mw_floors *s)
{
	p->t[0] = p->v[0] = p->tt[0] = p->tv[0] = p->vv[0] = 0;
	for (size_t i = 0; i < s->n; i++) {
		double t = s->t[i] - s->t[0], v = s->v[i] - s->v[0];

		p->t[i + 1] = p->t[i] + t;
		p->v[i + 1] = p->v[i] + v;
		p->tt[i + 1] = p->tt[i] + t * t;
		p->tv[i + 1] = p->tv[i] + t * v;
		p->vv[i + 1] = p->vv[i] + v * v;
	}
}

/* The squared distances of the points i to j-1 from their straight line. */
static double misfit(const struct sums *p, size_t i, size_t j)
{
	double n = (double)(j - i), t = p->t[j] - p->t[i], v = p->v[j] - p->v[i];
	double tt = p->tt[j] - p->tt[i] - t * t / n, tv = p->tv[j] - p->tv[i] - t * v / n;
	double vv = p->vv[j] - p->vv[i] - v * v / n, rest = tt > 0 ? vv - tv * tv / tt : vv;

	return rest > 0 ? rest : 0;
}

/* Cuts s into straight parts at the least cost. starts[] has the first point of each; returns their number. */
static size_t cut(const struct mw_floors *s, double var, size_t starts[MW_TREND_BINS])
{
	struct sums p;
	double best[MW_TREND_BINS + 1];
	size_t from[MW_TREND_BINS + 1], n = 0;

	sum_up_floors(&p, s);
	best[0] = 0;
	for (size_t j = 1; j <= s->n; j++) {
		best[j] = -1;
		for (size_t i = 0; i + PART_MIN <= j; i++) {
			double cost;

			if (i && best[i] < 0)
				continue;
			cost = best[i] + misfit(&p, i, j) + PART_PRICE * var;
			if (best[j] < 0 || cost < best[j]) {
				best[j] = cost;
				from[j] = i;
			}
		}
	}
	if (best[s->n] < 0) {
		starts[0] = 0;
		return 1;
	}
	for (size_t j = s->n; j; j = from[j])
		starts[n++] = from[j];
	for (size_t i = 0; i < n / 2; i++) {
		size_t x = starts[i];

		starts[i] = starts[n - 1 - i];
		starts[n - 1 - i] = x;
	}
	return n;
}

/* --- rises ------------------------------------------------------------------- */

/* Mann and Kendall's z, squared; 0 unless the order is ascending on the whole. */
static double ascent(const struct mw_floors *s, size_t from)
{
	double sum = 0, n = (double)(s->n - from), var = n * (n - 1) * (2 * n + 5) / 18;

	for (size_t i = from; i < s->n; i++)
		for (size_t j = i + 1; j < s->n; j++)
			sum += (s->v[j] > s->v[i]) - (s->v[j] < s->v[i]);
	return sum > 1 && var > 0 ? (sum - 1) * (sum - 1) / var : 0;
}

/* Theil and Sen's slope, of every second point if there are many: threads of ours have small stacks. */
double mw_floors_slope(const struct mw_floors *s, size_t from)
{
	double a[MW_TREND_BINS / 2 * (MW_TREND_BINS / 2 - 1) / 2];
	size_t n = 0, step = s->n - from > MW_TREND_BINS / 2 ? 2 : 1;

	for (size_t i = from; i < s->n; i += step)
		for (size_t j = i + step; j < s->n; j += step)
			a[n++] = (s->v[j] - s->v[i]) / (s->t[j] - s->t[i]);
	return n ? median(a, n) : 0;
}

/*
 * Has it stopped? The last record, a value above all before it by more than a little, is then older than
 * twice the longest time between two of them.
 */
static bool stopped(const struct mw_floors *s, size_t from, double little)
{
	double best = s->v[from], at = s->t[from], end = s->t[s->n - 1], gap = 0;

	for (size_t i = from + 1; i < s->n; i++) {
		if (s->v[i] <= best + little)
			continue;
		gap = mw_larger(gap, s->t[i] - at);
		best = s->v[i];
		at = s->t[i];
	}
	return end - at > 2 * gap;
}

/*
 * A value that moved as much before, up or down, within a time as long as this rise, may do so again. The
 * largest fifth of these moves doesn't count: the process's start is one.
 */
static bool usual(const struct mw_floors *s, size_t from, double gain)
{
	double a[MW_TREND_BINS], lasts = s->t[s->n - 1] - s->t[from];
	size_t n = 0;

	for (size_t i = 0; i < from && s->t[from - 1] - s->t[i] >= lasts; i++) {
		a[n] = 0;
		for (size_t k = i + 1; k < from && s->t[k] - s->t[i] <= lasts; k++)
			a[n] = mw_larger(a[n], absolute(s->v[k] - s->v[i]));
		n++;
	}
	return n >= POINTS_MIN && nth(a, n, n * 4 / 5) * 1.5 > gain;
}

/* Is the rise from that point on steady? Fills what belongs to a rise. */
static bool rises(struct mw_trend *r, const struct mw_floors *s, size_t from, double least)
{
	double t0 = s->t[from], quarter = (s->t[s->n - 1] - t0) / 4, level[5], z2, gain;

	if (s->n - from < POINTS_MIN)
		return false;
	for (int i = 0; i < 5; i++) {
		level[i] = mw_floors_median(s, mw_larger(t0, t0 + quarter * (i - 0.5)),
					    t0 + quarter * (i + 0.5));
		if (level[i] != level[i])
			return false;
	}
	gain = level[4] - level[0];
	if (gain < least)
		return false;
	for (int i = 0; i < 4; i++)
		if (level[i + 1] - level[i] < gain / 10)
			return false;
	/* the last point is far off: something else has happened since */
	if (absolute(s->v[s->n - 1] - level[4]) > 2 * gain)
		return false;
	z2 = ascent(s, from);
	if (z2 < MANN_KENDALL_Z2 || stopped(s, from, gain / 1000))
		return false;
	r->rate = mw_floors_slope(s, from);
	r->since = r->begun = t0;
	r->gain = r->rate * 4 * quarter;
	r->confidence = z2 / (z2 + 1);
	r->slowing = level[4] - level[3] < (level[1] - level[0]) / 2;
	/* the tail of what fills up */
	if (from && r->slowing && r->gain < (r->high - r->low) / 4)
		return false;
	return r->gain >= least && !usual(s, from, r->gain);
}

/* The straight line nearest to the points i to j-1: a point on it, and its slope. */
struct line {
	double t, v, slope;
};

static struct line line_of(const struct mw_floors *s, size_t i, size_t j)
{
	struct line l = { 0 };
	double n = (double)(j - i), tt = 0, tv = 0;

	for (size_t k = i; k < j; k++) {
		l.t += s->t[k] / n;
		l.v += s->v[k] / n;
	}
	for (size_t k = i; k < j; k++) {
		tt += (s->t[k] - l.t) * (s->t[k] - l.t);
		tv += (s->t[k] - l.t) * (s->v[k] - l.v);
	}
	l.slope = tt > 0 ? tv / tt : 0;
	return l;
}

/*
 * Where the line before a rise and the rise's own meet: the rise began between two points. A step
 * there would move the meeting away, so it is no further than the points beside them.
 */
static double onset(const struct mw_floors *s, size_t from, const struct line *before,
		    const struct line *rise)
{
	double steeper = rise->slope - before->slope, t;
	double first = s->t[from > 2 ? from - 2 : 0], last = s->t[from + 1];

	if (!(steeper > 0))
		return s->t[from];
	t = (before->v - before->slope * before->t - rise->v + rise->slope * rise->t) / steeper;
	return t < first ? first : t > last ? last : t;
}

/*
 * A rise may begin flat, for less time than a straight part has: then it begins at the end of that.
 * Flat is within a two hundredth of the gain, which a steady rise gains between two points.
 */
static double end_of_flat(const struct mw_floors *s, double t, double gain)
{
	enum { POINTS = 3 }; /* fewer are flat by chance */
	size_t from = 0, k;

	while (from + 1 < s->n && s->t[from + 1] <= t)
		from++;
	for (k = from + 1; k < s->n; k++)
		if (!(s->v[k] - s->v[from] <= gain / 200 && s->v[from] - s->v[k] <= gain / 200))
			break;
	return k - from > POINTS ? mw_larger(t, s->t[k - 1]) : t;
}

/*
 * Did nothing rise in the straight part before starts[k], and is the rise from there on steady? Then
 * *later is that rise. The present one begins at starts[i]. Its parts before the flat one were a process's
 * start, if they took no longer than that. But stairs are flat again and again.
 */
static bool rests_before(struct mw_trend *later, const struct mw_floors *s, const size_t *starts,
			 size_t n, size_t i, size_t k, double least)
{
	double rested = s->t[starts[k]] - s->t[starts[k - 1]];

	if (rested < s->t[starts[k - 1]] - s->t[starts[i]] || !rises(later, s, starts[k], least) ||
	    line_of(s, starts[k - 1], starts[k]).slope > later->rate / 4 ||
	    line_of(s, starts[k], k + 1 < n ? starts[k + 1] : s->n).slope < later->rate / 2)
		return false;
	for (size_t j = k + 1; k > i + 1 && j < n; j++)
		if (line_of(s, starts[j], j + 1 < n ? starts[j + 1] : s->n).slope < later->rate / 4)
			return false;
	return true;
}

static bool course_rises(struct mw_trend *r, const struct mw_floors *s, const size_t *starts, size_t n,
			 double least)
{
	struct line before = { 0 }, part;
	size_t i = 0;

	while (i < n && !rises(r, s, starts[i], least))
		i++;
	if (i == n)
		return false;
	for (size_t k = i + 1; k < n; k++) {
		struct mw_trend later = *r;

		if (!rests_before(&later, s, starts, n, i, k, least))
			continue;
		*r = later;
		i = k;
	}
	if (i) {
		before = line_of(s, starts[i - 1], starts[i]);
		part = line_of(s, starts[i], i + 1 < n ? starts[i + 1] : s->n);
		r->since = onset(s, starts[i], &before, &part);
	}
	r->since = r->begun = end_of_flat(s, r->since, r->gain);
	r->gain = r->rate * (s->t[s->n - 1] - r->since);
	return true;
}

static void mirror(struct mw_floors *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->v[i] = -s->v[i];
}

/* Rises or falls, since the earliest start of a straight part from which on it does so steadily. */
static bool moves(struct mw_trend *r, struct mw_floors *s, const size_t *starts, size_t n, double least)
{
	bool falls;

	if (course_rises(r, s, starts, n, least)) {
		r->course = MW_COURSE_RISES;
		return true;
	}
	mirror(s);
	falls = course_rises(r, s, starts, n, least);
	mirror(s);
	if (falls) {
		r->course = MW_COURSE_FALLS;
		r->rate = -r->rate;
		r->gain = -r->gain;
	}
	return falls;
}

/* --- a course --------------------------------------------------------------------- */

static void range_of(struct mw_trend *r, const struct mw_floors *s)
{
	r->low = r->high = s->v[0];
	for (size_t i = 1; i < s->n; i++) {
		r->low = s->v[i] < r->low ? s->v[i] : r->low;
		r->high = mw_larger(r->high, s->v[i]);
	}
}

/* The course of the troughs, if there are enough of them. False: there are no teeth. */
static bool teeth(struct mw_trend *r, const struct mw_floors *s, double var, double least)
{
	size_t starts[MW_TREND_BINS];
	double tooth = mw_larger((r->high - r->low) * 0.15, least);
	struct mw_floors floor;

	if (tooth * tooth < 16 * var)
		return false; /* noise is higher */
	mw_floors_troughs(&floor, s, tooth);
	if (floor.n < TEETH_MIN)
		return false;
	r->teeth = true;
	r->level = floor.v[floor.n - 1];
	r->confidence = (double)floor.n / (double)(floor.n + 1);
	if (!moves(r, &floor, starts,
		   cut(&floor, mw_larger(variance(&floor), least * least / 256), starts), least)) {
		r->course = MW_COURSE_TEETH;
		r->since = r->begun = s->t[0];
	}
	return true;
}

void mw_trend_of(struct mw_trend *r, const double *t, const double *v, size_t n, double from, double to,
		 double least)
{
	size_t starts[MW_TREND_BINS], parts;
	struct mw_floors s;
	double var, slack;

	*r = (struct mw_trend){ .course = MW_COURSE_UNKNOWN, .since = from, .begun = from };
	mw_floors_lowest(&s, t, v, n, from, to);
	if (s.n)
		range_of(r, &s);
	if (s.n < POINTS_MIN)
		return;
	r->level = s.v[s.n - 1];
	var = variance(&s);
	if (teeth(r, &s, var, least))
		return;
	/* straight is what the eye takes for it: a five-thousandth of the range is no bend */
	slack = mw_larger(least / 16, (r->high - r->low) / 5000);
	parts = cut(&s, mw_larger(var, slack * slack), starts);
	if (moves(r, &s, starts, parts, mw_larger(least, 0)))
		return;
	slack = least;
	while (slack * slack < 16 * var)
		slack *= 2;
	while (n && t[n - 1] > to)
		n--;
	mw_rests(r, &s, &(struct mw_series){ t, v, n }, slack);
}
