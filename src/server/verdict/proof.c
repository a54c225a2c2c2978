/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proof.c - the values that major collections leave, and whether they rise. See proof.h. */
#include "proof.h"

#include "trend.h"

#define UNKNOWN __builtin_nan("")

enum {
	FIFTHS = 5,
	FIFTHS_LEAST = 4,     /* that must be known: in order, they are chance once in 24 times */
	COLLECTIONS_LEAST = 5
};

/* The value that a major collection left: the least until the next one begins. */
struct left {
	uint32_t nth; /* of the collections since the start; 0: none */
	double t, v;  /* NaN: nothing is known */
};

struct fifths {
	double since, to;
	double v[FIFTHS], t[FIFTHS]; /* the least of what was left there */
	bool known[FIFTHS];
	size_t collections;
};

static void add_left(struct fifths *q, const struct left *l)
{
	double at = (l->t - q->since) / (q->to - q->since) * FIFTHS;
	int k = at < FIFTHS ? (int)at : FIFTHS - 1;

	if (!l->nth || l->v != l->v)
		return;
	q->collections++;
	if (q->known[k] && q->v[k] <= l->v)
		return;
	q->known[k] = true;
	q->v[k] = l->v;
	q->t[k] = l->t;
}

static double slope(const struct fifths *q, int from, int to)
{
	return (q->v[to] - q->v[from]) / (q->t[to] - q->t[from]);
}

static enum mw_proof rises(const struct fifths *q, double rate)
{
	int at[FIFTHS], n = 0;

	for (int k = 0; k < FIFTHS; k++) {
		if (!q->known[k])
			continue;
		if (n && !(q->v[k] > q->v[at[n - 1]]))
			return MW_PROOF_FAILS;
		at[n++] = k;
	}
	if (n < FIFTHS_LEAST || q->collections < COLLECTIONS_LEAST || slope(q, at[0], at[n - 1]) < rate / 3)
		return MW_PROOF_FAILS;
	return slope(q, at[n - 2], at[n - 1]) < slope(q, at[0], at[1]) / 2 ? MW_PROOF_SLOWS : MW_PROOF_HOLDS;
}

/* A walk along a series, with the points of its times, and what collections left so far. */
struct walk {
	const struct mw_scale *scale;
	size_t at; /* of the points */
	const struct mw_point *point; /* NULL: collections aren't known at that time */
	struct left left;
};

/* The next value. True: another collection has begun, and *done is what the one before left. */
static bool step_to_value(struct walk *w, double t, double v, double since, struct left *done)
{
	const struct mw_point *before = w->point, *p;

	while (w->at + 1 < w->scale->n && w->scale->points[w->at + 1].t <= t)
		w->at++;
	p = w->scale->n ? &w->scale->points[w->at] : NULL;
	w->point = p && p->t <= t && p->majors != MW_KIB_UNKNOWN ? p : NULL;
	if (t >= since && before && w->point && p->majors != before->majors) {
		*done = w->left;
		w->left = (struct left){ p->majors, t, v };
		return true;
	}
	if (w->left.nth && (v < w->left.v || w->left.v != w->left.v)) {
		w->left.t = t;
		w->left.v = v;
	}
	return false;
}

/* At the end: is the last collection done, too? */
static bool is_done(const struct walk *w)
{
	return w->left.nth && w->point && w->point->majors_done >= w->left.nth;
}

enum mw_proof mw_proof_of(const struct mw_scale *s, const double *t, const double *v, size_t n,
			  double since, double to, double rate)
{
	struct fifths q = { .since = since, .to = to };
	struct walk w = { .scale = s };
	struct left done;

	if (!(to > since))
		return MW_PROOF_UNKNOWN;
	for (size_t i = 0; i < n && t[i] <= to; i++)
		if (step_to_value(&w, t[i], v[i], since, &done))
			add_left(&q, &done);
	if (!w.point)
		return MW_PROOF_UNKNOWN;
	if (is_done(&w))
		add_left(&q, &w.left);
	return rises(&q, rate);
}

double mw_proof_left(const struct mw_scale *s, const double *t, const double *v, size_t n, double from,
		     double to, double *at)
{
	struct walk w = { .scale = s };
	struct left last = { 0 }, done;
	double value = UNKNOWN;

	for (size_t i = 0; i < n && t[i] <= to; i++) {
		if (step_to_value(&w, t[i], v[i], from, &done))
			last = done;
		value = v[i];
	}
	*at = to;
	if (!w.point)
		return value;
	if (is_done(&w))
		last = w.left;
	*at = last.t;
	return last.nth ? last.v : UNKNOWN;
}

bool mw_proof_fell(const double *v, size_t n, double least)
{
	double low = 0, high = 0;

	for (size_t i = 0; i < n; i++) {
		low = !i || v[i] < low ? v[i] : low;
		high = !i || v[i] > high ? v[i] : high;
		if (high - v[i] > mw_larger(least, (high - low) / 8))
			return true;
	}
	return false;
}
