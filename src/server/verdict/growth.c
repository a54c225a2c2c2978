/* SPDX-License-Identifier: GPL-2.0-or-later */
/* growth.c - what grows now: steadily, explosively, or so far without proof. See judge.h. */
#include <string.h>

#include "judge.h"
#include "words.h"

#define KEPT_SURELY 0.8

/* The location whose own rise is the growth comes first. */
static void put_first(struct mw_verdict *v, const struct mw_look *l)
{
	for (size_t i = 1; l->top && i < v->n; i++) {
		struct mw_verdict_location x = v->locations[i];

		if (x.location != l->top->location)
			continue;
		memmove(&v->locations[1], &v->locations[0], i * sizeof(x));
		v->locations[0] = x;
	}
}

static bool has_no_one_cause(const struct mw_verdict *v)
{
	return !v->at_location && v->file.share < 0.5 && v->gem.share < 0.5 &&
	       v->locations[0].share < 0.25;
}

/* RSS rose since then, and no one course explains it. */
void mw_judge_unsteady(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l,
		       double from)
{
	v->kind = v->to - e->start < MW_SETTLED_SECONDS ? MW_VERDICT_WARMING : MW_VERDICT_GREW;
	v->unsteady = true;
	v->change = mw_look_moved(l, MW_PART_RSS, from, mw_trend_change);
	v->rate = 0;
	v->rate_of = MW_PART_RSS;
	v->part = mw_look_most_by(l, from);
	v->since = v->begun = from;
	mw_judge_measure(v, l, from, v->to, mw_trend_change);
}

/* Live memory rose, and may fall again. */
void mw_judge_uncollected(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	struct mw_trend t = *mw_look_growth(l, MW_PART_LIVE);

	t.gain = mw_trend_difference(l->t, l->v, mw_look_total(l), t.since, l->scale->to);
	t.rate = 0;
	mw_judge_say(v, e, l, MW_VERDICT_UNCOLLECTED, MW_PART_LIVE, &t);
	v->rate_of = MW_PART_LIVE;
	mw_judge_measure(v, l, v->since, l->scale->to, mw_trend_difference);
}

static void say_growth(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l,
		       enum mw_rss_part part)
{
	static const enum mw_verdict_kind kinds[MW_PARTS_N] = {
		[MW_PART_LIVE] = MW_VERDICT_GROWS,         [MW_PART_HEAP] = MW_VERDICT_HEAP,
		[MW_PART_FREE] = MW_VERDICT_FRAGMENTATION, [MW_PART_ANON] = MW_VERDICT_NATIVE,
		[MW_PART_FILES] = MW_VERDICT_FILES,        [MW_PART_STACKS] = MW_VERDICT_STACKS,
		[MW_PART_TRACKER] = MW_VERDICT_TRACKER,
	};
	const struct mw_trend *t = mw_look_growth(l, part);

	mw_judge_say(v, e, l, kinds[part], part, t);
	v->growing = kinds[part] != MW_VERDICT_TRACKER || l->scale->to - e->start >= MW_WARMING_SECONDS;
	if (mw_warms_up(e, l, t)) {
		v->kind = MW_VERDICT_WARMING;
		v->growing = false;
	}
	mw_judge_measure(v, l, v->since, l->scale->to, mw_trend_rise);
	if (v->at_location)
		put_first(v, l);
	/* a program's many lines have their caches; what has no one cause needs proof, but for a process without Ruby */
	if (part == MW_PART_LIVE && v->n && has_no_one_cause(v)) {
		if (l->scale->to - e->start < MW_SETTLED_SECONDS)
			v->kind = MW_VERDICT_WARMING;
		else if (mw_known(v->now[MW_PART_HEAP]) &&
			 (l->scale->to - e->start < MW_WARMING_SECONDS ||
			  !(mw_kept_share(e, l, v->since) >= KEPT_SURELY)))
			mw_judge_uncollected(v, e, l);
	}
	/* arenas get more holes by and by; and by the measure that is told a part may be little of it */
	if (v->kind == MW_VERDICT_FRAGMENTATION && t->gain < t->level / 10)
		mw_judge_unsteady(v, e, l, v->since);
	else if (v->rate_of == MW_PART_RSS && v->moved[part] < v->moved[MW_PART_RSS] / 6 &&
		 mw_look_moved(l, part, v->since, mw_trend_change) <
			 mw_look_moved(l, MW_PART_RSS, v->since, mw_trend_change) / 6)
		mw_judge_unsteady(v, e, l, v->since);
	v->growing &= v->kind != MW_VERDICT_WARMING && v->kind != MW_VERDICT_GREW &&
		      v->kind != MW_VERDICT_UNCOLLECTED;
}

/*
 * Did all live memory rise at all, by the measure of what is told of it? If it came and went while the
 * trend was made out, it has not. A line whose own rise is the growth needs no more than that.
 */
static bool rose(const struct mw_look *l, enum mw_rss_part part)
{
	size_t n;

	if (part != MW_PART_LIVE || l->top)
		return true;
	n = mw_look_series(l, part);
	return !(mw_trend_rise(l->t, l->v, n, mw_look_growth(l, part)->since, l->scale->to) <= 0);
}

/* A growth of one of the scales; false: there is none. *waits: the first whose proof is to come. */
bool mw_judge_growth(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks, size_t n,
		     const struct mw_look **waits)
{
	const struct mw_look *chosen = NULL;
	enum mw_rss_part part = MW_PART_RSS;
	enum mw_keeps keeps;
	bool unproven = false;

	for (size_t i = 0; i < n; i++) {
		enum mw_rss_part by = mw_look_grows_by(&looks[i]);
		bool before = false;

		if (by == MW_PART_RSS || !rose(&looks[i], by))
			continue;
		for (size_t k = i + 1; k < n; k++)
			before |= mw_look_seen_before(&looks[k], by, looks[i].trend[by].level,
						      mw_look_growth(&looks[i], by)->since);
		/* a longer range says more, unless its rate is of the past */
		if (before || (chosen && (by != part || mw_look_growth(&looks[i], by)->rate <
								mw_look_growth(chosen, part)->rate / 3)))
			continue;
		keeps = mw_kept(e, &looks[i], by);
		if (keeps == MW_KEEPS_NOT) {
			*waits = *waits || by != MW_PART_LIVE ? *waits : &looks[i];
			continue;
		}
		chosen = &looks[i];
		part = by;
		unproven = keeps == MW_KEEPS_LIKELY;
	}
	if (chosen)
		say_growth(v, e, chosen, part);
	v->unproven = chosen && unproven;
	return chosen;
}

/* RSS had room for most of it, and no major collection has left it: it may have been so before. */
static bool may_be_garbage(const struct mw_look *l, double change)
{
	double to = l->scale->to, from = to - MW_EXPLODES_SECONDS, left;
	size_t n = mw_look_series(l, MW_PART_LIVE);

	left = mw_proof_left(l->scale, l->t, l->v, n, from, to);
	if (left >= mw_look_last(l, n) - change / 2)
		return false;
	n = mw_look_series(l, MW_PART_RSS);
	return mw_trend_difference(l->t, l->v, n, from, to) < change / 2;
}

bool mw_judge_explosion(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	double change = 0, gain, from, to;
	enum mw_rss_part part = MW_PART_LIVE;
	struct mw_trend t = { .confidence = 0.9 };
	bool lines;

	if (!mw_look_explodes(e, l, part, &change) || may_be_garbage(l, change)) {
		part = MW_PART_RSS;
		if (!mw_look_explodes(e, l, part, &change))
			return false;
	}
	mw_look_last_minute(l, &from, &to);
	gain = mw_trend_difference(l->t, l->v,
				   part == MW_PART_LIVE ? mw_look_total(l) : mw_look_series(l, part),
				   from, to);
	/* most of it came after the locations were last looked at: they can't explain it yet */
	lines = gain > change / 2;
	if (!lines) {
		to = l->scale->to;
		from = to - MW_EXPLODES_SECONDS;
		gain = change;
	}
	t.since = t.begun = from;
	t.gain = gain;
	t.rate = gain / (to - from);
	t.level = t.high = mw_look_last(l, mw_look_series(l, part));
	mw_judge_say(v, e, l, MW_VERDICT_EXPLODES, part, &t);
	v->growing = true;
	v->rate_of = part;
	mw_judge_measure(v, l, from, to, mw_trend_difference);
	v->to = to;
	if (!lines)
		v->n = 0;
	return true;
}
