/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rest.c - verdicts without growth now: it has ended, falls, or rests. See judge.h. */
#include "judge.h"

#define MIB (1024.0 * 1024)

enum {
	BOOT_SECONDS = 120, /* steps and rises that ended before are the start */
	RESTS_SECONDS = 60 /* after a start: then it is over */
};

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

/* Says that a rise or a step has ended. False: none has, or it was the process's start. */
bool mw_judge_ended(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
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
	mw_judge_say(v, e, l, kind, of == MW_PART_RSS ? mw_look_most_by(l, t.begun, 0) : of, &t);
	v->rate_of = of;
	mw_judge_measure(v, l, v->begun, l->scale->to, mw_trend_change);
	/* curves have longer steps than RSS: what came before the rise isn't part of it */
	if (v->n && v->locations[0].change > 2 * mw_larger(t.gain, -t.gain) + MIB)
		v->n = 0;
	if (kind == MW_VERDICT_GREW && v->n && v->part == MW_PART_LIVE && v->locations[0].share > 0.5)
		v->kind = MW_VERDICT_FILLED;
	return true;
}

/* The range that shows that time. */
static const struct mw_look *look_of(const struct mw_look *looks, size_t n, double from)
{
	const struct mw_look *l = &looks[n - 1];

	for (size_t i = n; i--;)
		if (looks[i].scale->from <= from)
			l = &looks[i];
	return l;
}

/* By 1 MB and 2 % at least; of a longer time, whose points may miss the troughs, a little less is enough. */
static double part_rise(const struct mw_look *l, enum mw_rss_part part, double from, double each)
{
	size_t n = mw_look_series(l, part);
	double least = mw_larger(MIB, l->trend[part].level / 50);

	return mw_look_floor_rise(l, n, from, l->scale->to,
				  l->seen >= MW_SETTLED_SECONDS ? least * 0.7 : least, each);
}

/*
 * One part that hardly comes and goes rose in each third of the time, by half of what RSS did, in steps or in
 * a curve: it grows.
 */
static bool part_grows(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l,
		       double from)
{
	static const struct {
		enum mw_rss_part part;
		enum mw_verdict_kind kind;
	} parts[] = { { MW_PART_HEAP, MW_VERDICT_HEAP },
		      { MW_PART_ANON, MW_VERDICT_NATIVE },
		      { MW_PART_FILES, MW_VERDICT_FILES },
		      { MW_PART_STACKS, MW_VERDICT_STACKS } };
	double rise;

	from = mw_larger(from, e->start + BOOT_SECONDS);
	if (l->scale->to - from < MW_SETTLED_SECONDS)
		return false;
	rise = part_rise(l, MW_PART_RSS, from, 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		double gain = part_rise(l, parts[i].part, from, MW_LOOK_STEADILY);
		struct mw_trend t = l->trend[parts[i].part];

		if (!(gain > 0) || gain < rise / 2 || mw_may_be_malloc(l, parts[i].part, from, gain))
			continue;
		t.course = MW_COURSE_RISES;
		t.since = t.begun = from;
		t.gain = gain;
		t.rate = gain / mw_larger(l->scale->to - from, 1);
		if (parts[i].part == MW_PART_HEAP && !mw_heap_keeps(e, l, &t))
			continue;
		mw_judge_say(v, e, l, parts[i].kind, parts[i].part, &t);
		v->rate_of = parts[i].part;
		v->growing = true;
		mw_judge_measure(v, l, from, v->to, mw_trend_change);
		return true;
	}
	return false;
}

/* Nobody is told that nothing grows if the floor rose over the very time that is told of. */
static void say_rise(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
		     size_t n, enum mw_rss_part part)
{
	double from = v->kind == MW_VERDICT_FLAT ? v->since : v->from, rise;
	const struct mw_look *l = look_of(looks, n, from);

	rise = part_rise(l, part, from, 0);
	/* a value that goes up and down has no time of its own: it may not have risen over a longer one */
	for (size_t i = 1; i < n && !(rise > 0) && v->kind == MW_VERDICT_SAWTOOTH; i++) {
		l = &looks[i];
		rise = part_rise(l, part, from = mw_larger(l->scale->from, e->start + MW_START_SECONDS), 0);
	}
	/* nor if it did so after the start */
	for (int booted = MW_START_SECONDS / 2;
	     booted <= MW_START_SECONDS && !(rise > 0) && from < e->start + booted;
	     booted += MW_START_SECONDS / 2)
		rise = part_rise(l, part, from = e->start + booted, 0);
	if (!(rise > 0) || part_grows(v, e, l, from))
		return;
	mw_judge_unsteady(v, e, l, from);
	v->change = rise;
}

/* Nothing moves for good: flat, or up and down. */
void mw_judge_rest(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks, size_t n)
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
	/* a start that has just come to rest may go on */
	if (v->kind == MW_VERDICT_FLAT && has_ended(t) && v->to - v->since < RESTS_SECONDS &&
	    v->to - e->start < MW_SETTLED_SECONDS) {
		mw_judge_unsteady(v, e, l, t->begun);
		return;
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

bool mw_judge_fall(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks, size_t n)
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
		     part == MW_PART_RSS ? mw_look_most_by(chosen, chosen->trend[part].since, 0) : part,
		     &chosen->trend[part]);
	mw_judge_measure(v, chosen, v->since, chosen->scale->to, mw_trend_change);
	return true;
}
