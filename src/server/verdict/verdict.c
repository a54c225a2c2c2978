/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict.c - the judgement. See verdict.h. */
#include <stdlib.h>
#include <string.h>

#include "judge.h"

#define UNKNOWN __builtin_nan("")
#define KIB 1024.0
#define MIB (1024.0 * 1024)

enum {
	WARM_SECONDS = 60, /* of a process that moves */
	BOOT_SECONDS = 120      /* steps and rises that ended before are the start */
};

const char *const mw_part_names[MW_PARTS_N] = { "rss",  "live",  "heap",   "free",
						"anon", "files", "stacks", "tracker" };

/* --- the answer -------------------------------------------------------------------- */

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

/* Marks, resets, pauses and forks change nothing in the memory that counts. */
static bool is_cause(const struct mw_event *ev)
{
	return !strcmp(ev->kind, "annotation") || !strcmp(ev->kind, "trim");
}

static void find_event(struct mw_verdict *v, const struct mw_evidence *e, double at, double slack)
{
	const struct mw_history *h = e->history;
	uint32_t first = h && h->events_n > MW_EVENTS_N ? h->events_n - MW_EVENTS_N : 0;

	for (uint32_t i = first; h && i < h->events_n; i++) {
		const struct mw_event *ev = &h->events[i % MW_EVENTS_N];

		if (ev->t >= at - slack && ev->t <= at + slack && is_cause(ev))
			v->event = ev;
	}
}

void mw_judge_say(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l,
		  enum mw_verdict_kind kind, enum mw_rss_part part, const struct mw_trend *t)
{
	v->kind = kind;
	v->part = part;
	v->from = mw_larger(l->scale->from, l->scale->n ? l->scale->points[0].t : l->scale->from);
	v->to = l->scale->to;
	v->since = t->since;
	v->begun = t->begun;
	v->rate = t->rate;
	v->rate_of = t == &l->trend[MW_PART_LIVE] || t == &l->trend[MW_PART_HEAP] ? part : MW_PART_RSS;
	v->change = t->gain;
	v->level = t->level;
	v->high = t->high;
	v->confidence = t->confidence;
	v->at_location = l->top && t == &l->line;
	find_event(v, e, v->begun, mw_larger((v->to - v->from) / 30, 5));
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
static bool judge_growth(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks,
			 size_t n, const struct mw_look **waits)
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
			*waits = *waits ? *waits : &looks[i];
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

/* Live memory rose, and may fall again. */
static void say_uncollected(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	struct mw_trend t = *mw_look_growth(l, MW_PART_LIVE);

	t.gain = mw_trend_difference(l->t, l->v, mw_look_total(l), t.since, l->scale->to);
	t.rate = 0;
	mw_judge_say(v, e, l, MW_VERDICT_UNCOLLECTED, MW_PART_LIVE, &t);
	v->rate_of = MW_PART_LIVE;
	mw_judge_measure(v, l, v->since, l->scale->to, mw_trend_difference);
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

static bool judge_explosion(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
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

static bool has_ended(const struct mw_trend *t)
{
	return t->course == MW_COURSE_ROSE || t->course == MW_COURSE_STEP;
}

/*
 * A change that began while the process started may be its start alone, or have come after that.
 * Fills *t with what ended since then, and returns true; false: it was the start.
 */
static bool ended_later(struct mw_trend *t, const struct mw_look *l, enum mw_rss_part part, double booted)
{
	double all = mw_larger(t->gain, -t->gain), since,
	       step = (l->scale->to - l->scale->from) / MW_TREND_BINS;
	struct mw_trend later;

	if (t->begun >= booted)
		return true;
	mw_trend_of(&later, l->t, l->v, mw_look_series(l, part), booted, l->scale->to, l->least);
	since = has_ended(&later) ? mw_larger(later.gain, -later.gain) : 0;
	if (since >= all / 2 && later.begun > booted + 3 * step)
		*t = later;
	return since >= all / 4;
}

/* What has ended: a rise, a step. False: nothing, or it was the start of the process. */
static bool judge_ended(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
			size_t n, enum mw_rss_part of)
{
	const struct mw_look *l = &looks[0];
	double booted = e->start + BOOT_SECONDS;
	enum mw_verdict_kind kind;
	struct mw_trend t;

	if (!has_ended(&l->trend[of]))
		return false;
	/* a longer range may have more of it; else the shorter one knows better when it began */
	for (size_t i = 1; i < n; i++)
		if (has_ended(&looks[i].trend[of]) && looks[i].trend[of].begun < l->scale->points[0].t &&
		    looks[i].trend[of].since >
			    l->trend[of].since - (looks[i].scale->to - looks[i].scale->from) / 5)
			l = &looks[i];
	t = l->trend[of];
	if (t.since < booted || !ended_later(&t, l, of, booted))
		return false;
	if ((t.gain < 0 ? -t.gain : t.gain) < mw_larger(t.level / 50, MIB))
		return false;
	kind = t.course == MW_COURSE_STEP || t.gain < 0 ? MW_VERDICT_STEP : MW_VERDICT_GREW;
	mw_judge_say(v, e, l, kind, of == MW_PART_RSS ? mw_look_most_by(l, t.begun) : of, &t);
	v->rate_of = of;
	mw_judge_measure(v, l, v->begun, l->scale->to, mw_trend_change);
	/* curves have longer steps than RSS: what came before the rise isn't part of it */
	if (v->n && v->locations[0].change > 2 * mw_larger(t.gain, -t.gain) + MIB)
		v->n = 0;
	if (kind == MW_VERDICT_GREW && v->n && v->part == MW_PART_LIVE && v->locations[0].share > 0.5)
		v->kind = MW_VERDICT_FILLED;
	return true;
}

/* Was the first half of that time ever as high as the floor of its end? */
static bool came_and_went(const struct mw_look *l, enum mw_rss_part part, double from, double to)
{
	size_t n = mw_look_series(l, part);
	double peak = 0, least = 0;

	for (size_t i = 0; i < n && l->t[i] <= to; i++) {
		if (l->t[i] >= from && l->t[i] <= from + (to - from) / 2)
			peak = mw_larger(l->v[i], peak);
		if (l->t[i] >= to - (to - from) / 5 && (least <= 0 || l->v[i] < least))
			least = l->v[i];
	}
	return peak >= least;
}

/* Nobody is told that nothing grows if the floor rose over the very time that is told of. */
static void say_rise(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
		     size_t n, enum mw_rss_part part)
{
	double from = v->kind == MW_VERDICT_FLAT ? v->since : v->from, rise;
	const struct mw_look *l = &looks[n - 1];

	for (size_t i = n; i--;)
		if (looks[i].scale->from <= from)
			l = &looks[i];
	if (v->kind == MW_VERDICT_SAWTOOTH && came_and_went(l, part, from, v->to))
		return;
	from += (v->to - from) / 20; /* the last point before a step belongs to that */
	rise = mw_trend_change(l->t, l->v, mw_look_series(l, part), from, v->to);
	if (!(rise > mw_larger(v->level / 20, 2 * MIB)))
		return;
	v->kind = v->to - e->start < MW_WARMING_SECONDS ? MW_VERDICT_WARMING : MW_VERDICT_GREW;
	v->unsteady = true;
	v->change = rise;
	v->rate_of = part;
	v->part = part == MW_PART_RSS ? mw_look_most_by(l, from) : part;
	v->since = v->begun = from;
	mw_judge_measure(v, l, from, v->to, mw_trend_change);
}

/* Nothing moves for good: flat, or up and down. */
static void judge_rest(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
		       size_t n)
{
	const struct mw_look *l = &looks[0];
	enum mw_rss_part part = mw_look_is(l, MW_PART_RSS, MW_COURSE_UNKNOWN) ? MW_PART_LIVE : MW_PART_RSS;
	const struct mw_trend *t = &l->trend[part];
	double moved = t->gain < 0 ? -t->gain : t->gain;
	double little = t->level / 50;
	bool flat = t->course != MW_COURSE_TEETH || t->high - t->low <= little;

	/* a rise or fall that is none, for others come and go as high */
	if ((t->course == MW_COURSE_RISES || t->course == MW_COURSE_FALLS) && moved > little)
		flat = false;
	for (size_t i = 1; !flat && i < n; i++) {
		const struct mw_trend *longer = &looks[i].trend[part];

		if (longer->course == MW_COURSE_TEETH) {
			l = &looks[i];
			t = longer;
		}
	}

	/* flat RSS is the better news, even if live memory goes up and down beneath it */
	mw_judge_say(v, e, l, flat ? MW_VERDICT_FLAT : MW_VERDICT_SAWTOOTH, MW_PART_RSS, t);
	v->rate = v->change = 0;
	v->event = NULL;
	for (size_t i = 1; flat && i < n; i++) {
		const struct mw_trend *longer = &looks[i].trend[part];

		if ((longer->course == MW_COURSE_FLAT || longer->course == MW_COURSE_STEP ||
		     longer->course == MW_COURSE_ROSE) &&
		    longer->since < v->since) {
			v->since = longer->since;
			v->from = mw_larger(looks[i].scale->from, looks[i].scale->points[0].t);
		}
	}
	mw_judge_measure(v, l, v->from > l->scale->from ? v->from : l->scale->from, l->scale->to,
			 mw_trend_change);
	say_rise(v, e, looks, n, part);
}

/* Does a longer range than the first one say so? */
static bool comes_and_goes(const struct mw_look *looks, size_t n, enum mw_rss_part part)
{
	for (size_t i = 1; i < n; i++)
		if (looks[i].trend[part].course == MW_COURSE_TEETH)
			return true;
	return false;
}

static bool judge_fall(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
		       size_t n)
{
	const struct mw_look *chosen = NULL;
	enum mw_rss_part part = MW_PART_RSS;

	for (size_t i = 0; i < n; i++) {
		const struct mw_look *l = &looks[i];
		enum mw_rss_part of =
			mw_look_is(l, MW_PART_RSS, MW_COURSE_FALLS) ? MW_PART_RSS : MW_PART_LIVE;
		const struct mw_trend *t = &l->trend[of];

		if (t->course != MW_COURSE_FALLS || -t->gain < mw_larger(t->level / 100, MIB))
			continue;
		if (comes_and_goes(looks + i, n - i, of))
			break;
		/* a longer range says more, unless its rate is of the past */
		if (chosen && (of != part || t->rate > chosen->trend[part].rate / 3))
			continue;
		chosen = l;
		part = of;
	}
	if (!chosen)
		return false;
	mw_judge_say(v, e, chosen, MW_VERDICT_FALLS,
		     part == MW_PART_RSS ? mw_look_most_by(chosen, chosen->trend[part].since) : part,
		     &chosen->trend[part]);
	mw_judge_measure(v, chosen, v->since, chosen->scale->to, mw_trend_change);
	return true;
}

/* A young process that moves, but not steadily. */
static bool judge_young(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	size_t n = mw_look_series(l, MW_PART_RSS);
	double age = l->scale->to - e->start, first;
	struct mw_trend t = l->trend[MW_PART_RSS];

	if (e->chosen || age >= WARM_SECONDS || t.course == MW_COURSE_UNKNOWN)
		return false;
	first = mw_look_value_at(l, n, e->start + 1);
	t.gain = mw_look_last(l, n) - first;
	t.since = t.begun = e->start;
	if (!(t.gain > first / 20) || !(t.gain > l->least))
		return false;
	mw_judge_say(v, e, l, MW_VERDICT_WARMING, MW_PART_RSS, &t);
	mw_judge_measure(v, l, v->since, l->scale->to, mw_trend_change);
	return true;
}

/* What proofs say of it, whatever it is. */
static void add_proof(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
		      size_t n)
{
	const struct mw_look *l = NULL;

	for (size_t i = 0; i < n; i++)
		if (!l && looks[i].scale->from <= v->since)
			l = &looks[i];
	if (!v->n || !l || v->kind == MW_VERDICT_SPIKE)
		return;
	v->held = mw_held_last(e->held, v->locations[0].location, v->locations[0].len);
	v->kept = mw_kept_share(e, l, v->since);
	v->at_kept = mw_kept_at(e, l, v->locations[0].location, v->locations[0].len, v->since);
	v->awaits = v->kind == MW_VERDICT_UNCOLLECTED && e->proves == MW_PROVES_SOON && v->kept != v->kept;
}

static void judge(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks, size_t n)
{
	const struct mw_look *waits = NULL;

	if (!e->chosen && (mw_judge_disabled(v, e, looks) || judge_explosion(v, e, &looks[0])))
		return;
	if (mw_judge_counts(v, e, looks, n) || judge_growth(v, e, looks, n, &waits) ||
	    mw_judge_kept_lines(v, e, looks, n) || judge_fall(v, e, looks, n) ||
	    judge_young(v, e, &looks[0]) || mw_judge_stairs(v, e, looks, n))
		return;
	if (waits) {
		say_uncollected(v, e, waits);
		return;
	}
	if (mw_judge_spike(v, e, looks, n) || judge_ended(v, e, looks, n, MW_PART_RSS) ||
	    judge_ended(v, e, looks, n, MW_PART_LIVE))
		return;
	judge_rest(v, e, looks, n);
}

static void judge_all(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks)
{
	judge(v, e, looks, e->scales_n);
	add_proof(v, e, looks, e->scales_n);
}

static void watching(struct mw_verdict *v, const struct mw_scale *s, double seen)
{
	v->kind = MW_VERDICT_WATCHING;
	v->from = s->from;
	v->to = s->to;
	v->since = v->begun = s->from;
	v->watch = seen < MW_TREND_SECONDS ? (unsigned)(MW_TREND_SECONDS - seen) + 1 : 1;
	for (int part = 0; part < MW_PARTS_N; part++) {
		uint32_t kib = s->n ? mw_rss_part_of(&s->points[s->n - 1], (enum mw_rss_part)part) :
				      MW_KIB_UNKNOWN;

		v->now[part] = kib == MW_KIB_UNKNOWN ? UNKNOWN : kib * KIB;
		v->moved[part] = UNKNOWN;
	}
}

bool mw_verdict_wants_proof(const struct mw_verdict *v)
{
	enum { WARMING_PROVEN = 180 }; /* seconds: a rise that goes on may be more than a start */

	return v->n && (v->kind == MW_VERDICT_GROWS || v->kind == MW_VERDICT_UNCOLLECTED ||
			v->kind == MW_VERDICT_THREADS ||
			(v->kind == MW_VERDICT_WARMING && v->to - v->since >= WARMING_PROVEN));
}

int mw_verdict_make(struct mw_verdict *v, const struct mw_evidence *e)
{
	struct mw_look *looks = calloc(e->scales_n + 1, sizeof(*looks));
	size_t most = MW_CURVES_POINTS;
	double *room;

	*v = (struct mw_verdict){ .kind = MW_VERDICT_WATCHING, .kept = UNKNOWN, .at_kept = UNKNOWN };
	for (size_t i = 0; i < e->scales_n; i++) {
		const struct mw_curve_set *set = e->scales[i].curves;
		size_t longest = set ? mw_curves_longest(set) : 0;

		most = e->scales[i].n > most ? e->scales[i].n : most;
		most = longest > most ? longest : most;
	}
	room = calloc(most + 1, 2 * sizeof(*room));
	if (looks && room) {
		for (size_t i = 0; i < e->scales_n; i++) {
			looks[i].t = room;
			looks[i].v = room + most + 1;
			mw_look_at(&looks[i], &e->scales[i]);
		}
		if (!e->scales_n ||
		    (looks[0].seen < MW_TREND_SECONDS && !(e->chosen && looks[0].seen >= 10)))
			watching(v, &e->scales[0], looks[0].seen);
		else
			judge_all(v, e, looks);
		if (e->paused)
			v->kind = MW_VERDICT_PAUSED;
		v->growing &= !e->paused;
	}
	free(room);
	free(looks);
	return looks && room ? 0 : -1;
}
