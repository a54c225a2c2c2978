/* SPDX-License-Identifier: GPL-2.0-or-later */
/* growth.c - verdicts about growth that goes on: steadily, explosively, or so far without proof. See judge.h. */
#include "judge.h"
#include "words.h"

#define KEPT_SURELY 0.8
#define KEPT_MOSTLY 0.5

/* A growth at none of the known lines has no one cause either. */
static bool has_no_one_cause(const struct mw_verdict *v, const struct mw_look *l)
{
	if (!v->n)
		return l->scale->curves && l->scale->curves->n;
	return !v->at_location && v->file.share < 0.5 && v->gem.share < 0.5 &&
	       v->locations[0].share < 0.25;
}

/* RSS rose since then, and no one course explains it. */
void mw_judge_unsteady(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l,
		       double from)
{
	double started = e->start + MW_START_SECONDS;
	size_t n = mw_look_series(l, MW_PART_RSS);

	/* what has not been given back since */
	v->in_start = mw_look_lowest(l, n, started, v->to) - mw_look_lowest(l, n, from, started);
	v->kind = v->to - e->start < MW_SETTLED_SECONDS ? MW_VERDICT_WARMING : MW_VERDICT_GREW;
	v->unsteady = true;
	v->change = mw_look_moved(l, MW_PART_RSS, from, mw_trend_change);
	v->rate = 0;
	v->rate_of = MW_PART_RSS;
	v->part = mw_look_most_by(l, from, 0);
	v->since = v->begun = from;
	mw_judge_measure(v, l, from, v->to, mw_trend_change);
}

/* Live memory rose, and may fall again. */
void mw_judge_uncollected(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	struct mw_trend t = *mw_look_growth(l, MW_PART_LIVE);
	size_t n = mw_look_total(l);
	double booted = mw_after_start(e, l, t.since);

	if (booted > t.since && l->scale->to - booted >= MW_START_SECONDS &&
	    mw_trend_difference(l->t, l->v, n, booted, l->scale->to) >= l->least)
		t.since = t.begun = booted;
	t.gain = mw_trend_difference(l->t, l->v, n, t.since, l->scale->to);
	t.rate = 0;
	mw_judge_say(v, e, l, MW_VERDICT_UNCOLLECTED, MW_PART_LIVE, &t);
	v->rate_of = MW_PART_LIVE;
	mw_judge_measure(v, l, v->since, l->scale->to, mw_trend_difference);
}

/* Is that part little of RSS's growth, also by the floors of what comes in steps? Then it isn't the reason. */
static bool explains_little(const struct mw_verdict *v, const struct mw_look *l, enum mw_rss_part part)
{
	static const double least[MW_PARTS_N] = {
		[MW_PART_HEAP] = 0.2, [MW_PART_FREE] = 0.4, [MW_PART_ANON] = 0.3
	};

	/* what rises by itself is told, unless it is next to nothing beside the rest */
	double share = v->rate_of == part ? 0.1 : mw_larger(least[part], 0.17);

	/* in one step a mapping may have come to lie above a guard page, as a stack does */
	if (part == MW_PART_STACKS && !(v->moved[part] > 0))
		return true;
	return v->moved[part] < v->moved[MW_PART_RSS] * share &&
	       mw_look_moved(l, part, v->since, mw_trend_change) <
		       mw_look_moved(l, MW_PART_RSS, v->since, mw_trend_change) * share;
}

static bool rises_by_itself(const struct mw_evidence *e, const struct mw_look *l, enum mw_rss_part part)
{
	return mw_look_is(l, part, MW_COURSE_RISES) && !mw_warms_up(e, l, &l->trend[part]);
}

/* Beside a start, one part may grow steadily: then it is told alone. */
static const struct mw_trend *growth_of(const struct mw_evidence *e, const struct mw_look *l,
					enum mw_rss_part part)
{
	const struct mw_trend *t = mw_look_growth(l, part);

	return t == &l->trend[MW_PART_RSS] && mw_warms_up(e, l, t) && rises_by_itself(e, l, part) ?
		       &l->trend[part] :
		       t;
}

/* A growth that is told already, and that proofs see kept, is no start, even if it slows down. */
static bool is_told_and_kept(const struct mw_evidence *e, const struct mw_look *l, enum mw_rss_part part,
			     const struct mw_trend *t)
{
	return part == MW_PART_LIVE && e->accused && e->accused->part == part &&
	       l->scale->to - e->start >= MW_SETTLED_SECONDS &&
	       mw_kept_share(e, l, t->since) >= KEPT_MOSTLY;
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
	const struct mw_trend *t = growth_of(e, l, part);

	mw_judge_say(v, e, l, kinds[part], part, t);
	v->growing = kinds[part] != MW_VERDICT_TRACKER || l->scale->to - e->start >= MW_WARMING_SECONDS;
	if (mw_warms_up(e, l, t) && !is_told_and_kept(e, l, part, t)) {
		v->kind = MW_VERDICT_WARMING;
		v->growing = false;
	}
	mw_judge_measure(v, l, v->since, l->scale->to, mw_trend_rise);
	if (v->rate_of == MW_PART_RSS && explains_little(v, l, part) && rises_by_itself(e, l, part)) {
		t = &l->trend[part];
		mw_judge_say(v, e, l, kinds[part], part, t);
		mw_judge_measure(v, l, v->since, l->scale->to, mw_trend_rise);
	}
	/* growth by steps at a few lines has a cause, too */
	if (part == MW_PART_LIVE && has_no_one_cause(v, l))
		mw_judge_measure(v, l, v->since, l->scale->to, mw_trend_difference);
	if (v->at_location)
		mw_judge_put_first(v, l);
	/* a program's many lines have their caches; what has no one cause needs proof, but for a process without Ruby */
	if (part == MW_PART_LIVE && has_no_one_cause(v, l)) {
		if (l->scale->to - e->start < MW_SETTLED_SECONDS)
			v->kind = MW_VERDICT_WARMING;
		else if (mw_known(v->now[MW_PART_HEAP]) &&
			 (l->scale->to - e->start < MW_WARMING_SECONDS ||
			  !(mw_kept_share(e, l, v->since) >= KEPT_SURELY)))
			mw_judge_uncollected(v, e, l);
	}
	if (v->kind == MW_VERDICT_FRAGMENTATION && t->gain < t->level / 10)
		mw_judge_unsteady(v, e, l, v->since); /* arenas get more holes by and by */
	else if ((v->rate_of == MW_PART_RSS || part == MW_PART_HEAP) && explains_little(v, l, part))
		mw_judge_unsteady(v, e, l, v->since);
	else if ((part == MW_PART_FREE || part == MW_PART_ANON) && t->gain < t->level / 3 &&
		 l->scale->to - e->start < MW_SETTLED_SECONDS)
		v->kind = MW_VERDICT_WARMING;
	v->growing &= v->kind != MW_VERDICT_WARMING && v->kind != MW_VERDICT_GREW &&
		      v->kind != MW_VERDICT_UNCOLLECTED;
}

bool mw_judge_line(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	const struct mw_trend *t = mw_look_growth(l, MW_PART_LIVE);

	if (!l->top || t != &l->line ||
	    !(mw_kept_at(e, l, l->top->location, l->top->location_len, t->since) >= KEPT_SURELY))
		return false;
	say_growth(v, e, l, MW_PART_LIVE);
	return true;
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

/* Did a longer range see that part come and go as high? */
static bool was_there_before(const struct mw_look *looks, size_t i, size_t n, enum mw_rss_part part)
{
	for (size_t k = i + 1; k < n; k++)
		if (mw_look_seen_before(&looks[k], part, looks[i].trend[part].level,
					mw_look_growth(&looks[i], part)->since))
			return true;
	return false;
}

bool mw_may_be_malloc(const struct mw_look *l, enum mw_rss_part part, double since, double gain)
{
	double unused, high = 0, floors;
	size_t n;

	if (part != MW_PART_ANON)
		return false;
	unused = mw_look_last(l, mw_look_series(l, MW_PART_FREE));
	if (unused == unused)
		return false;
	/* of floors of the first fifth and the last one: four fifths of the time */
	floors = mw_look_moved(l, MW_PART_LIVE, since, mw_trend_change) * 5 / 4;
	n = mw_look_series(l, MW_PART_LIVE);
	for (size_t i = 0; i < n; i++)
		if (l->t[i] >= since && l->v[i] > high)
			high = l->v[i];
	return mw_larger(high - mw_look_lowest(l, n, since, l->scale->to), floors) >= gain;
}

/*
 * The part that grows for good in that range, and most, but for those whose bits are set; RSS: none does. *waits as
 * below.
 */
static enum mw_rss_part grows_for_good(const struct mw_evidence *e, struct mw_look *looks, size_t i,
				       size_t n, unsigned but, enum mw_keeps *keeps,
				       const struct mw_look **waits)
{
	struct mw_look *l = &looks[i];
	enum mw_rss_part part;

	for (; (part = mw_look_grows_by(l, but)) != MW_PART_RSS; but |= 1u << part) {
		/* beside what may be garbage, what comes with a start needs no word */
		if (!rose(l, part) ||
		    mw_may_be_malloc(l, part, mw_look_growth(l, part)->since,
				     mw_look_growth(l, part)->gain) ||
		    was_there_before(looks, i, n, part) ||
		    (but && mw_warms_up(e, l, mw_look_growth(l, part))))
			continue;
		*keeps = mw_kept(e, l, part);
		if (*keeps != MW_KEEPS_NOT)
			return part;
		if (part == MW_PART_LIVE && !*waits)
			*waits = l;
	}
	return MW_PART_RSS;
}

/* The part that grows in each range; RSS: none does, or it isn't to be told. */
struct found {
	enum mw_rss_part part[MW_SCALES_MAX];
	enum mw_keeps keeps[MW_SCALES_MAX];
};

/* The range that is told of; n: none. A longer one says more, unless its rate is of the past. */
static size_t choose_range(const struct found *f, const struct mw_look *looks, size_t n)
{
	size_t chosen = n;

	for (size_t i = 0; i < n; i++) {
		enum mw_rss_part by = f->part[i];

		if (by != MW_PART_RSS &&
		    (chosen == n ||
		     (by == f->part[chosen] && mw_look_growth(&looks[i], by)->rate >=
						       mw_look_growth(&looks[chosen], by)->rate / 3)))
			chosen = i;
	}
	return chosen;
}

/* Beside a line that has stopped, does another one rise, and keep that? Then it stands for the growth. */
static bool others_go_on(const struct mw_evidence *e, struct mw_look *l, enum mw_keeps *keeps)
{
	const struct mw_look before = *l;

	if (l->by_line || !mw_next_line(e, l))
		return false;
	*keeps = mw_kept(e, l, MW_PART_LIVE);
	if (*keeps != MW_KEEPS_NOT)
		return true;
	*l = before;
	return false;
}

bool mw_judge_growth(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks, size_t n,
		     const struct mw_look **waits, const struct mw_look **stopped)
{
	const struct mw_verdict before = *v;
	struct found f;
	size_t at;

	for (size_t i = 0; i < n; i++)
		f.part[i] = grows_for_good(e, looks, i, n, 0, &f.keeps[i], waits);
	while ((at = choose_range(&f, looks, n)) < n) {
		say_growth(v, e, &looks[at], f.part[at]);
		v->unproven = f.keeps[at] == MW_KEEPS_LIKELY;
		if (v->kind != MW_VERDICT_GROWS || !v->n ||
		    !mw_line_stopped(e, &looks[at], &v->locations[0], v->since))
			return true;
		if (!*stopped)
			*stopped = &looks[at];
		*v = before;
		if (!others_go_on(e, &looks[at], &f.keeps[at]))
			f.part[at] =
				grows_for_good(e, looks, at, n, 1u << MW_PART_LIVE, &f.keeps[at], waits);
	}
	return false;
}

void mw_judge_filled(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	say_growth(v, e, l, MW_PART_LIVE);
	v->kind = MW_VERDICT_FILLED;
	v->growing = v->at_location = v->unsteady = false;
	v->stopped = true;
	v->rate = 0;
}

/* No major collection has left most of it. RSS tells then whether it is new. */
static bool may_be_garbage(const struct mw_look *l, double change)
{
	double to = l->scale->to, left, at;
	size_t n = mw_look_series(l, MW_PART_LIVE);

	left = mw_proof_left(l->scale, l->t, l->v, n, to - MW_EXPLODES_SECONDS, to, &at);
	return !(left >= mw_look_last(l, n) - change / 2);
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
