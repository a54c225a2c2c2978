/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept.c - is a growth of live memory kept, or garbage? See judge.h, held.h and proof.h. */
#include <string.h>

#include "judge.h"

#define UNKNOWN __builtin_nan("")

enum {
	WARM_SECONDS = 60,     /* any rise before is warming up */
	FILES_SECONDS = 300,
	LOCATIONS = 8
};
#define KEPT_LEAST 0.4 /* of a growth: if less of it is kept, it is garbage that grows */

bool mw_warms_up(const struct mw_evidence *e, const struct mw_look *l, const struct mw_trend *t)
{
	double age = l->scale->to - e->start;

	/* a program's files and libraries come into memory as it first uses them */
	if (t == &l->trend[MW_PART_RSS] && age < FILES_SECONDS &&
	    mw_look_most_by(l, t->since) == MW_PART_FILES)
		return true;
	return age < WARM_SECONDS || (age < MW_WARMING_SECONDS && t->slowing);
}

/* Of one location's growth; NaN: not known. */
static double share_of(const struct mw_evidence *e, const struct mw_look *l, const struct mw_curve *c,
		       double since)
{
	double then = mw_look_value_at(l, mw_look_curve(l, c), since);

	return mw_held_share(e->held, c->location, c->location_len, since, then == then ? then : 0);
}

double mw_kept_at(const struct mw_evidence *e, const struct mw_look *l, const char *location, size_t len,
		  double since)
{
	const struct mw_curve_set *set = l->scale->curves;

	for (size_t i = 0; set && i < set->n; i++)
		if (set->v[i].location_len == len && !memcmp(set->v[i].location, location, len))
			return share_of(e, l, &set->v[i], since);
	return UNKNOWN;
}

double mw_kept_share(const struct mw_evidence *e, const struct mw_look *l, double since)
{
	const struct mw_curve *best[LOCATIONS];
	double change[LOCATIONS], less, all = 0, known = 0, kept = 0;
	size_t n = mw_look_changed(l, since, l->scale->to, mw_trend_difference, best, change, LOCATIONS,
				   &less);

	for (size_t i = 0; i < n; i++) {
		double share = share_of(e, l, best[i], since);

		all += change[i];
		if (share != share)
			continue;
		known += change[i];
		kept += change[i] * share;
	}
	return known > 0 && known * 2 >= all ? kept / known : UNKNOWN;
}

enum mw_keeps mw_kept(const struct mw_evidence *e, struct mw_look *l, enum mw_rss_part part)
{
	const struct mw_trend *t = mw_look_growth(l, part);
	enum mw_proof proof;
	double share;
	bool warms;

	if (part != MW_PART_LIVE)
		return MW_KEEPS;
	share = mw_kept_share(e, l, t->since);
	if (share == share)
		return share >= KEPT_LEAST ? MW_KEEPS : MW_KEEPS_NOT;
	proof = mw_look_proof(l, part);
	if (proof != MW_PROOF_FAILS)
		return proof == MW_PROOF_SLOWS && l->scale->to - e->start < MW_WARMING_SECONDS ?
			       MW_KEEPS_NOT :
			       MW_KEEPS;
	if (e->proves == MW_PROVES_SOON)
		return MW_KEEPS_NOT; /* nobody is accused before that */
	warms = mw_warms_up(e, l, t);
	if (!mw_look_one_line(l, t->since) || mw_warms_up(e, l, &l->line))
		return MW_KEEPS_NOT;
	l->by_line &= !warms; /* else it is all live memory that warms up */
	return MW_KEEPS_LIKELY;
}

/* Lines that rise, most first. */
struct kept_lines {
	size_t n;
	const struct mw_curve *v[LOCATIONS];
	double gain[LOCATIONS];
	struct mw_trend sum; /* gain and rate are all of theirs, since is the earliest */
};

static void add_line(struct kept_lines *k, const struct mw_curve *c, const struct mw_trend *t)
{
	if (!k->n)
		k->sum = *t;
	else {
		k->sum.gain += t->gain;
		k->sum.rate += t->rate;
		k->sum.level += t->level;
		k->sum.since = t->since < k->sum.since ? t->since : k->sum.since;
		k->sum.begun = k->sum.since;
	}
	k->v[k->n] = c;
	k->gain[k->n++] = t->gain;
}

static void find_kept_lines(struct kept_lines *k, const struct mw_evidence *e, const struct mw_look *l)
{
	const struct mw_curve *best[LOCATIONS];
	double change[LOCATIONS], less, to = l->scale->to;
	size_t n = mw_look_changed(l, l->scale->from, to, mw_trend_change, best, change, LOCATIONS, &less);

	k->n = 0;
	for (size_t i = 0; i < n; i++) {
		size_t len = mw_look_curve(l, best[i]);
		struct mw_trend t;
		double then;

		mw_trend_of(&t, l->t, l->v, len, l->scale->from, to, l->least / 4);
		then = mw_look_value_at(l, len, t.since);
		if (t.course == MW_COURSE_RISES && !mw_warms_up(e, l, &t) &&
		    mw_held_share(e->held, best[i]->location, best[i]->location_len, t.since,
				  then == then ? then : 0) >= KEPT_LEAST)
			add_line(k, best[i], &t);
	}
}

bool mw_judge_kept_lines(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
			 size_t n)
{
	for (size_t i = 0; e->held && i < n; i++) {
		const struct mw_look *l = &looks[i];
		struct kept_lines k;

		find_kept_lines(&k, e, l);
		if (!k.n || k.sum.gain < mw_larger(l->least,
						   mw_look_last(l, mw_look_series(l, MW_PART_RSS)) / 100))
			continue;
		mw_judge_say(v, e, l, MW_VERDICT_GROWS, MW_PART_LIVE, &k.sum);
		mw_judge_measure(v, l, v->since, v->to, mw_trend_rise);
		v->growing = true;
		v->rate_of = MW_PART_LIVE;
		v->kept_lines = (unsigned)k.n;
		v->n = k.n < MW_VERDICT_LOCATIONS ? k.n : MW_VERDICT_LOCATIONS;
		for (size_t at = 0; at < v->n; at++)
			v->locations[at] = (struct mw_verdict_location){
				.location = k.v[at]->location,
				.len = k.v[at]->location_len,
				.file_len = k.v[at]->file_len,
				.kind = k.v[at]->kind,
				.change = k.gain[at],
				.share = k.gain[at] / k.sum.gain
			};
		return true;
	}
	return false;
}
