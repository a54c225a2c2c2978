/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * growers.c - the locations that grow by themselves, however little. See judge.h.
 *
 * One grows if its live memory rises steadily, beyond what its points scatter by (trend.h), keeps that as far as proofs
 * and collections tell, and goes on. These are the rules of an accusation, but for the size. It must not have come and
 * gone as high over a longer range.
 */
#include <string.h>

#include "judge.h"

#define LEAST (16.0 * 1024) /* bytes: a smaller rise is nothing to a reader */

/* Did a longer range see its memory come and go as high, before that rise? */
static bool was_as_high(const struct mw_look *longer, size_t n, const struct mw_curve *c,
			const struct mw_trend *t)
{
	for (size_t i = 0; i < n; i++) {
		const struct mw_curve *same = mw_look_find(&longer[i], c->location, c->location_len);
		const struct mw_scale *s = longer[i].scale;
		struct mw_trend all;
		size_t len;

		if (!same)
			continue;
		len = mw_look_curve(&longer[i], same);
		mw_trend_of(&all, longer[i].t, longer[i].v, len, s->from, s->to, LEAST);
		if (mw_look_came_before(&longer[i], len, &all, t->level, t->since))
			return true;
	}
	return false;
}

/* Its memory since it has been known, in the first of the ranges. */
static bool grows(struct mw_trend *t, const struct mw_verdict *v, const struct mw_evidence *e,
		  const struct mw_look *looks, size_t n, const struct mw_curve *c)
{
	const struct mw_look *l = &looks[0];
	size_t len = mw_look_curve(l, c);
	double to = l->scale->to, from = len ? mw_larger(l->scale->from, l->t[0]) : to;

	if (to - from < MW_TREND_SECONDS || !(mw_trend_change(l->t, l->v, len, from, to) >= LEAST / 2))
		return false;
	mw_trend_of(t, l->t, l->v, len, from, to, LEAST);
	return t->course == MW_COURSE_RISES &&
	       mw_line_keeps(e, l, c, t, v->kind != MW_VERDICT_UNCOLLECTED) &&
	       !was_as_high(looks + 1, n - 1, c, t);
}

static bool grower_is_there(const struct mw_verdict *v, const char *location, size_t len)
{
	for (size_t i = 0; i < v->growers_n; i++)
		if (v->growers[i].at.len == len && !memcmp(v->growers[i].at.location, location, len))
			return true;
	return false;
}

/* In order of their rates; without the slowest if there are too many. */
static void put_grower(struct mw_verdict *v, const struct mw_grower *g)
{
	size_t at = v->growers_n;

	if (at == MW_GROWERS && g->rate <= v->growers[at - 1].rate)
		return;
	at = at < MW_GROWERS ? v->growers_n++ : at - 1;
	for (; at && v->growers[at - 1].rate < g->rate; at--)
		v->growers[at] = v->growers[at - 1];
	v->growers[at] = *g;
}

/* The table shows each line as growing that the sentence accuses: also one that grows by steps, or within a minute. */
static void put_accused(struct mw_verdict *v)
{
	const struct mw_verdict_location *at = &v->locations[0];
	double window = mw_larger(v->to - v->since, 1);

	if (!v->growing || !mw_verdict_at(v) || grower_is_there(v, at->location, at->len) ||
	    (v->kind != MW_VERDICT_GROWS && v->kind != MW_VERDICT_EXPLODES))
		return;
	put_grower(v, &(struct mw_grower){ *at, v->since, v->at_location ? v->rate : at->change / window });
}

void mw_judge_growers(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
		      size_t n)
{
	/* the shortest range in which it grows tells its rate of now */
	for (size_t i = 0; i < n; i++) {
		const struct mw_curve_set *set = looks[i].scale->curves;

		for (size_t k = 0; set && k < set->n; k++) {
			const struct mw_curve *c = &set->v[k];
			struct mw_trend t;

			if (grower_is_there(v, c->location, c->location_len) ||
			    !grows(&t, v, e, looks + i, n - i, c))
				continue;
			put_grower(v, &(struct mw_grower){ { c->location, c->location_len, c->file_len,
							     c->kind, t.gain, 0 },
							   t.since,
							   t.rate });
		}
	}
	put_accused(v);
}
