/* SPDX-License-Identifier: GPL-2.0-or-later */
/* look.c - one range of time as the judgement sees it. See look.h. */
#include "look.h"

#include <string.h>

#define UNKNOWN __builtin_nan("")
#define KIB 1024.0
#define MIB (1024.0 * 1024)

enum { CANDIDATES = 8 }; /* locations whose course is looked at */

uint32_t mw_rss_part_of(const struct mw_point *p, enum mw_rss_part part)
{
	switch (part) {
	case MW_PART_RSS:
		return p->rss;
	case MW_PART_LIVE:
		return p->live;
	case MW_PART_HEAP:
		return p->heap;
	case MW_PART_FREE:
		return p->free;
	case MW_PART_ANON:
		return p->anon;
	case MW_PART_FILES:
		return p->files;
	case MW_PART_STACKS:
		return p->stacks;
	default:
		return p->tracker;
	}
}

/* Fills t[] and v[] with a part's series, in bytes. */
size_t mw_look_series(const struct mw_look *l, enum mw_rss_part part)
{
	const struct mw_scale *s = l->scale;

	for (size_t i = 0; i < s->n; i++) {
		uint32_t kib = mw_rss_part_of(&s->points[i], part);

		l->t[i] = s->points[i].t;
		l->v[i] = kib == MW_KIB_UNKNOWN ? UNKNOWN : kib * KIB;
	}
	return s->n;
}

size_t mw_look_curve(const struct mw_look *l, const struct mw_curve *c)
{
	mw_curve_series(c, l->t, l->v);
	return c->n;
}

size_t mw_look_total(const struct mw_look *l)
{
	const struct mw_curve_set *set = l->scale->curves;
	size_t n = set ? set->rest_n : 0;

	for (size_t i = 0; i < n; i++) {
		l->t[i] = set->rest_t[i];
		l->v[i] = (double)set->rest_bytes[i];
	}
	/* a curve ends with the rest; before its first point it is part of that */
	for (size_t k = 0; n && k < set->n; k++)
		for (size_t i = 0; i < set->v[k].n; i++)
			l->v[n - set->v[k].n + i] += (double)set->v[k].bytes[i];
	return n ? n : mw_look_series(l, MW_PART_LIVE);
}

double mw_look_last(const struct mw_look *l, size_t n)
{
	while (n && l->v[n - 1] != l->v[n - 1])
		n--;
	return n ? l->v[n - 1] : UNKNOWN;
}

double mw_look_lowest(const struct mw_look *l, size_t n, double from, double to)
{
	double least = UNKNOWN;

	for (size_t i = 0; i < n; i++)
		if (l->t[i] >= from && l->t[i] <= to && !(least <= l->v[i]))
			least = l->v[i];
	return least;
}

double mw_look_floor_rise(const struct mw_look *l, size_t n, double from, double to, double least,
			  double each)
{
	double third = (to - from) / 3, a = mw_look_lowest(l, n, from, from + third),
	       b = mw_look_lowest(l, n, from + third, to - third),
	       c = mw_look_lowest(l, n, to - third, to);

	each = mw_larger(least / 3, (c - a) * each);
	return c - a > least && b - a > each && c - b > each ? c - a : 0;
}

/* --- locations ------------------------------------------------------------------ */

/* The locations with the most change in the window, most first; returns their number. */
size_t mw_look_changed(const struct mw_look *l, double from, double to, mw_change_fn *of,
		       const struct mw_curve **best, double *change, size_t max, double *less)
{
	const struct mw_curve_set *set = l->scale->curves;
	size_t n = 0;

	*less = 0;
	for (size_t i = 0; set && i < set->n; i++) {
		double d = of(l->t, l->v, mw_look_curve(l, &set->v[i]), from, to);
		size_t at = n;

		if (d < 0)
			*less -= d;
		if (!(d > 0) || (n == max && d <= change[n - 1]))
			continue;
		if (of == mw_trend_rise)
			d = mw_trend_sure_rise(l->t, l->v, set->v[i].n, from, to, d);
		if (!(d > 0) || (n == max && d <= change[n - 1]))
			continue;
		at = n < max ? n++ : n - 1;
		for (; at && change[at - 1] < d; at--) {
			change[at] = change[at - 1];
			best[at] = best[at - 1];
		}
		change[at] = d;
		best[at] = &set->v[i];
	}
	return n;
}

/*
 * A location may rise steadily beneath the noise of all others. Its rise counts if others didn't
 * lose as much meanwhile, and the live memory moves at least as much. If collections don't prove
 * it, it must be a quarter of how far live memory moves, and never have fallen.
 */
static void find_line(struct mw_look *l)
{
	const struct mw_curve *best[CANDIDATES];
	const struct mw_trend *live = &l->trend[MW_PART_LIVE];
	double change[CANDIDATES], less, to = l->scale->to;
	size_t n =
		mw_look_changed(l, l->scale->from, to, mw_trend_change, best, change, CANDIDATES, &less);

	l->top = NULL;
	l->by_line = false;
	for (size_t i = 0; i < n; i++) {
		struct mw_trend t;

		if (change[i] < l->least)
			break;
		mw_trend_of(&t, l->t, l->v, mw_look_curve(l, best[i]), l->scale->from, to, l->least);
		if (t.course != MW_COURSE_RISES || less > t.gain / 2 ||
		    t.gain > (live->high - live->low) * 1.25)
			continue;
		/* the curve is in t[] and v[] still */
		if (mw_proof_of(l->scale, l->t, l->v, best[i]->n, t.since, to, t.rate) == MW_PROOF_FAILS &&
		    (t.gain < (live->high - live->low) / 4 || mw_proof_fell(l->v, best[i]->n, l->least)))
			continue;
		if (!l->top || t.gain > l->line.gain) {
			l->top = best[i];
			l->line = t;
		}
	}
}

/* --- a scale -------------------------------------------------------------------- */

/* A start hides that what it began with goes on: then only what came after it counts. */
static void leave_start_out(const struct mw_look *l, struct mw_trend *t, size_t n)
{
	double booted = l->start + MW_START_SECONDS, age = l->scale->to - l->start;
	struct mw_trend later;

	if (t->course != MW_COURSE_RISES || !t->slowing || t->since >= booted || age < MW_SETTLED_SECONDS)
		return;
	mw_trend_of(&later, l->t, l->v, n, booted, l->scale->to, l->least);
	if (later.course == MW_COURSE_RISES && !later.slowing)
		*t = later;
}

void mw_look_at(struct mw_look *l, const struct mw_scale *s)
{
	l->scale = s;
	l->seen = s->n ? s->points[s->n - 1].t - mw_larger(s->points[0].t, s->from) : 0;
	l->least = 128 * KIB;
	/* the course of the tracker's own memory isn't asked for: RSS's is */
	for (int part = 0; part < MW_PART_TRACKER; part++) {
		size_t n = mw_look_series(l, (enum mw_rss_part)part);

		if (part == MW_PART_RSS && mw_look_last(l, n) / 1000 > l->least)
			l->least = mw_look_last(l, n) / 1000;
		mw_trend_of(&l->trend[part], l->t, l->v, n, s->from, s->to, l->least);
		leave_start_out(l, &l->trend[part], n);
	}
	find_line(l);
}

bool mw_look_is(const struct mw_look *l, enum mw_rss_part part, enum mw_course course)
{
	return l->trend[part].course == course;
}

double mw_look_moved(const struct mw_look *l, enum mw_rss_part part, double since, mw_change_fn *of)
{
	return of(l->t, l->v, mw_look_series(l, part), since, l->scale->to);
}

enum mw_rss_part mw_look_most_by(const struct mw_look *l, double begun, unsigned but)
{
	enum mw_rss_part most = MW_PART_RSS;
	double change = 0;

	for (int part = MW_PART_LIVE; part < MW_PARTS_N; part++) {
		double d = mw_look_moved(l, (enum mw_rss_part)part, begun, mw_trend_change);

		if (!(but & 1u << part) && (d < 0 ? -d : d) > change) {
			change = d < 0 ? -d : d;
			most = (enum mw_rss_part)part;
		}
	}
	return most;
}

/*
 * The part among those that hardly come and go which rises most by itself; RSS: none does. Ruby's heap rises with the
 * memory of its objects, so it must rise by more than that.
 */
static enum mw_rss_part rises_alone(const struct mw_look *l, unsigned but)
{
	static const enum mw_rss_part parts[] = { MW_PART_ANON, MW_PART_FILES, MW_PART_STACKS,
						  MW_PART_HEAP };
	bool arenas = !mw_look_is(l, MW_PART_FREE, MW_COURSE_UNKNOWN); /* else they are part of ANON */
	double least = mw_larger(MIB, l->trend[MW_PART_RSS].level / 50);
	double live = mw_look_moved(l, MW_PART_LIVE, l->trend[MW_PART_HEAP].since, mw_trend_difference);
	enum mw_rss_part most = MW_PART_RSS;

	for (size_t i = arenas ? 0 : 1; i < sizeof(parts) / sizeof(*parts); i++)
		if (!(but & 1u << parts[i]) && mw_look_is(l, parts[i], MW_COURSE_RISES) &&
		    l->trend[parts[i]].gain > least &&
		    !(parts[i] == MW_PART_HEAP && but && l->trend[parts[i]].gain < live)) {
			most = parts[i];
			least = l->trend[most].gain;
		}
	return most;
}

/* RSS rises steadily by that much: the part that explains a quarter of it at least. */
static enum mw_rss_part explains_rss(const struct mw_look *l, enum mw_rss_part most, double gain,
				     unsigned but)
{
	static const enum mw_rss_part others[] = { MW_PART_HEAP, MW_PART_FREE, MW_PART_ANON,
						   MW_PART_FILES, MW_PART_STACKS };
	const struct mw_trend *rss = &l->trend[MW_PART_RSS];

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!(but & 1u << others[i]) && mw_look_is(l, others[i], MW_COURSE_RISES) &&
		    l->trend[others[i]].gain > gain) {
			most = others[i];
			gain = l->trend[others[i]].gain;
		}
	}
	if (gain >= rss->gain / 4)
		return most;
	if (but)
		return rises_alone(l, but);
	/* no part rises steadily, or only one that is little of it: the one that moved most */
	most = rss->gain > rss->level / 50 ? mw_look_most_by(l, rss->since, 0) : MW_PART_RSS;
	return mw_look_moved(l, most, rss->since, mw_trend_change) >= rss->gain / 4 ? most : MW_PART_RSS;
}

enum mw_rss_part mw_look_grows_by(const struct mw_look *l, unsigned but)
{
	enum mw_rss_part most = MW_PART_RSS;
	double gain = 0;

	if (!(but & 1u << MW_PART_LIVE) && mw_look_is(l, MW_PART_LIVE, MW_COURSE_RISES)) {
		most = MW_PART_LIVE;
		gain = l->trend[MW_PART_LIVE].gain;
	} else if (!(but & 1u << MW_PART_LIVE) && l->top) {
		most = MW_PART_LIVE;
		gain = l->line.gain;
	}
	if (mw_look_is(l, MW_PART_RSS, MW_COURSE_RISES))
		return explains_rss(l, most, gain, but);
	return most == MW_PART_RSS ? rises_alone(l, but) : most;
}

/* The trend that stands for that growth. */
const struct mw_trend *mw_look_growth(const struct mw_look *l, enum mw_rss_part part)
{
	if (part == MW_PART_LIVE && l->top && (l->by_line || !mw_look_is(l, part, MW_COURSE_RISES)))
		return &l->line;
	if ((part == MW_PART_LIVE || part == MW_PART_HEAP) && mw_look_is(l, part, MW_COURSE_RISES))
		return &l->trend[part];
	/* the others are told as what RSS grows by, and their share of that, if it does, and they are half of it */
	return (mw_look_is(l, MW_PART_RSS, MW_COURSE_RISES) &&
		l->trend[part].gain >= l->trend[MW_PART_RSS].gain / 2) ||
			       !mw_look_is(l, part, MW_COURSE_RISES) ?
		       &l->trend[MW_PART_RSS] :
		       &l->trend[part];
}

bool mw_look_came_before(const struct mw_look *longer, size_t n, const struct mw_trend *t, double level,
			 double since)
{
	double peak = 0;

	if (t->course != MW_COURSE_TEETH && !t->teeth)
		return false;
	for (size_t i = 0; i < n && longer->t[i] < since; i++)
		if (longer->v[i] > peak)
			peak = longer->v[i];
	return level <= peak + mw_larger(longer->least, (t->high - t->low) * 0.15);
}

/* Did a longer range see the part come and go that high, before the rise in question? */
bool mw_look_seen_before(const struct mw_look *longer, enum mw_rss_part part, double level, double since)
{
	return mw_look_came_before(longer, mw_look_series(longer, part), &longer->trend[part], level,
				   since);
}

const struct mw_curve *mw_look_find(const struct mw_look *l, const char *location, size_t len)
{
	const struct mw_curve_set *set = l->scale->curves;

	for (size_t i = 0; set && i < set->n; i++)
		if (set->v[i].location_len == len && !memcmp(set->v[i].location, location, len))
			return &set->v[i];
	return NULL;
}

enum mw_proof mw_look_proof(const struct mw_look *l, enum mw_rss_part part)
{
	const struct mw_trend *t = mw_look_growth(l, part);
	size_t n = t == &l->line ? mw_look_curve(l, l->top) : mw_look_total(l);

	return mw_proof_of(l->scale, l->t, l->v, n, t->since, l->scale->to, t->rate);
}

bool mw_look_one_line(struct mw_look *l, double since)
{
	const struct mw_curve *best;
	const struct mw_trend *live = &l->trend[MW_PART_LIVE];
	double change, less, to = l->scale->to;
	struct mw_trend line;
	bool fell;
	size_t n;

	if (!mw_look_changed(l, since, to, mw_trend_rise, &best, &change, 1, &less))
		return false;
	n = mw_look_total(l);
	if (change < mw_trend_rise(l->t, l->v, n, since, to) / 2)
		return false;
	/* a fall while the process started is little of its range since */
	fell = mw_proof_fell(l->v, n, mw_larger(l->least, (live->high - live->low) / 16));
	n = mw_look_curve(l, best);
	mw_trend_of(&line, l->t, l->v, n, l->scale->from, to, l->least);
	if (line.course != MW_COURSE_RISES || mw_proof_fell(l->v, n, l->least))
		return false;
	l->top = best;
	l->line = line;
	l->by_line = fell;
	return true;
}

/* --- explosions -------------------------------------------------------------------- */

/* The value at a time or just before; NaN: not known. */
double mw_look_value_at(const struct mw_look *l, size_t n, double t)
{
	double v = UNKNOWN;

	for (size_t i = 0; i < n && l->t[i] <= t; i++)
		v = l->v[i];
	return v;
}

bool mw_look_explodes(const struct mw_evidence *e, const struct mw_look *l, enum mw_rss_part part,
		      double *change)
{
	size_t n = mw_look_series(l, part);
	double end = n ? l->t[n - 1] : 0, now = mw_look_last(l, n),
	       then = mw_look_value_at(l, n, end - MW_EXPLODES_SECONDS);
	double half = mw_look_value_at(l, n, end - MW_EXPLODES_SECONDS / 2.0);

	if (end - e->start < 2 * MW_EXPLODES_SECONDS)
		return false;
	*change = now - then;
	if (!(*change >= mw_larger(then / 2, 32 * MIB)) || !(now > half))
		return false;
	for (size_t i = 0; i < n && l->t[i] < end - MW_EXPLODES_SECONDS; i++)
		if (l->v[i] > now * 0.9)
			return false; /* it has been there before */
	return true;
}

void mw_look_last_minute(const struct mw_look *l, double *from, double *to)
{
	const struct mw_curve_set *set = l->scale->curves;
	size_t n = set ? set->rest_n : 0;

	*to = l->scale->to;
	*from = *to - MW_EXPLODES_SECONDS;
	while (n && set->rest_t[n - 1] > *to)
		n--;
	if (!n)
		return;
	*to = set->rest_t[n - 1];
	while (n && set->rest_t[n - 1] > *to - MW_EXPLODES_SECONDS)
		n--;
	*from = n ? set->rest_t[n - 1] : *to - MW_EXPLODES_SECONDS;
}
