/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept.c - is a growth of live memory kept, or garbage? See judge.h, held.h and proof.h. */
#include <string.h>

#include "judge.h"
#include "made.h"

#define UNKNOWN __builtin_nan("")

enum {
	STOPPED_SECONDS = 40,  /* of a growth that has ended, at least */
	STOPPED_PART = 8, /* and that part of the time that it took */
	STARTED_SECONDS = 120, /* memory that lived before that is no growth of one line */
	LOCATIONS = MW_VERDICT_SUSPECTS,
	PROOF_AGE_MOST = MW_SETTLED_SECONDS + 60, /* the next proof comes five minutes later */
	MAJORS_LEAST = 3 /* collections, of which garbage hardly outlives each */
};
#define MIB (1024.0 * 1024)
#define KEPT_LEAST 0.4 /* of a growth: if less of it is kept, it is garbage that grows */
#define KEPT_SURELY 0.8
#define HEAP_KEPT_LEAST 0.25 /* of pages that were added, which have room for garbage, too */

/*
 * Has a major collection since the last proof left hardly more than that saw kept? Then what was kept grew until
 * then, and has stopped: a cache is full. A growth by steps pauses, too: so the pause must be long beside the time of
 * the growth. The series is in t[] and v[].
 */
static bool has_stopped(const struct mw_look *l, size_t n, const struct mw_held *last, double since,
			double then)
{
	double at, left = mw_proof_left(l->scale, l->t, l->v, n, last->t, l->scale->to, &at);
	double grew = last->t - since, still = at - last->t;
	double stays = (double)(last->kept + last->lost), before = (stays - then) / grew;

	return l->scale->n && l->scale->points[l->scale->n - 1].majors != MW_KIB_UNKNOWN &&
	       still >= mw_larger(STOPPED_SECONDS, grew / STOPPED_PART) &&
	       left - stays < before / 4 * still;
}

double mw_after_start(const struct mw_evidence *e, const struct mw_look *l, double since)
{
	double booted = e->start + MW_START_SECONDS;

	return mw_larger(since, booted < l->scale->to ? booted : since);
}

/* Of one location's growth; NaN: not known. */
static double share_of(const struct mw_evidence *e, const struct mw_look *l, const struct mw_curve *c,
		       double since)
{
	const struct mw_held *last;
	double then, share;
	size_t n;

	since = mw_after_start(e, l, since);
	n = mw_look_curve(l, c);
	then = mw_look_value_at(l, n, since);
	then = then == then ? then : 0;
	share = mw_held_share(e->held, c->location, c->location_len, since, then);
	last = mw_held_last(e->held, c->location, c->location_len);
	return share > 0 && last->t > since && has_stopped(l, n, last, since, then) ? 0 : share;
}

double mw_kept_at(const struct mw_evidence *e, const struct mw_look *l, const char *location, size_t len,
		  double since)
{
	const struct mw_curve *c = mw_look_find(l, location, len);

	return c ? share_of(e, l, c, since) : UNKNOWN;
}

double mw_kept_share(const struct mw_evidence *e, const struct mw_look *l, double since)
{
	const struct mw_curve *best[LOCATIONS];
	double change[LOCATIONS], less, all = 0, known = 0, kept = 0;
	size_t n = mw_look_changed(l, mw_after_start(e, l, since), l->scale->to, mw_trend_difference,
				   best, change, LOCATIONS, &less);

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

/* Did the series in t[] and v[] rise while the process started, and less than half as fast since? That is no growth. */
static bool was_start(const struct mw_evidence *e, const struct mw_look *l, size_t n,
		      const struct mw_trend *t)
{
	double booted = e->start + MW_START_SECONDS, lasts = l->scale->to - booted, rise;

	if (t->since >= booted)
		return false;
	/* of floors of the first fifth and the last one: four fifths of the time */
	rise = mw_trend_change(l->t, l->v, n, booted, l->scale->to) * 5 / 4;
	return lasts >= MW_START_SECONDS && !(rise > t->rate / 2 * lasts);
}

/* Of a rise of the series in t[] and v[]. */
static bool is_young(const struct mw_evidence *e, const struct mw_look *l, size_t n,
		     const struct mw_trend *t)
{
	double age = l->scale->to - e->start;

	return age < MW_START_SECONDS ||
	       (age < MW_WARMING_SECONDS && (t->slowing || was_start(e, l, n, t)));
}

bool mw_warms_up(const struct mw_evidence *e, const struct mw_look *l, const struct mw_trend *t)
{
	double age = l->scale->to - e->start;
	enum mw_rss_part most;
	size_t n = t == &l->line ? mw_look_curve(l, l->top) :
				   mw_look_series(l, (enum mw_rss_part)(t - l->trend));

	if (is_young(e, l, n, t))
		return true;
	if (age >= MW_SETTLED_SECONDS || t == &l->line)
		return false;
	/* a program's files and libraries come into memory as it first uses them, and arenas get their holes */
	most = mw_look_most_by(l, t->since, 0);
	return t == &l->trend[MW_PART_RSS] &&
	       (most == MW_PART_FILES || (most == MW_PART_FREE && t->gain < t->level / 10));
}

/* Did a proof of the line that grew most leave it open? */
static bool is_unclear(const struct mw_evidence *e, const struct mw_look *l, double since)
{
	const struct mw_curve *best;
	double change, less;

	return mw_look_changed(l, since, l->scale->to, mw_trend_difference, &best, &change, 1, &less) &&
	       mw_held_unclear(e->held, best->location, best->location_len, since);
}

/* Major collections since then; MW_KIB_UNKNOWN: not known. */
static uint32_t majors_since(const struct mw_scale *s, double since)
{
	uint32_t now = s->n ? s->points[s->n - 1].majors : MW_KIB_UNKNOWN;

	for (size_t i = 0; i < s->n && now != MW_KIB_UNKNOWN; i++)
		if (s->points[i].t >= since && s->points[i].majors != MW_KIB_UNKNOWN)
			return now - s->points[i].majors;
	return MW_KIB_UNKNOWN;
}

/*
 * The part of the heap's growth since then that Ruby reaches, as two proofs saw it which saw a third of the growth; NaN:
 * there are none. The rest is room for garbage. The series of the heap is in t[] and v[].
 */
static double heap_kept_share(const struct mw_evidence *e, const struct mw_look *l, size_t n, double since)
{
	struct mw_held_heap a, b;
	double grown = mw_look_last(l, n) - mw_look_value_at(l, n, since), seen;

	if (!mw_held_heaps(e->held, since, &a, &b))
		return UNKNOWN;
	seen = mw_look_value_at(l, n, b.t) - mw_look_value_at(l, n, a.t);
	return seen > 0 && seen >= grown / 3 ? ((double)b.bytes - (double)a.bytes) / seen : UNKNOWN;
}

/* Did a sixth of the rise since then, at least, come in the last third of the time? The series is in t[] and v[]. */
static bool still_rises(const struct mw_look *l, size_t n, double since)
{
	double to = l->scale->to, last = mw_look_last(l, n);

	return last - mw_look_value_at(l, n, to - (to - since) / 3) >
	       (last - mw_look_value_at(l, n, since)) / 6;
}

/*
 * Ruby's heap hardly shrinks, and has room for the garbage between two major collections. So some of these must
 * have run since, or sampled objects must have outlived two of them, or proofs reached as many more; proofs mustn't
 * show that it is room for garbage; and it must still grow. A start's pages say nothing of what proofs see later.
 */
bool mw_heap_keeps(const struct mw_evidence *e, const struct mw_look *l, const struct mw_trend *t)
{
	double since = mw_after_start(e, l, t->since), share, last, all;
	uint32_t majors = majors_since(l->scale, t->since);
	size_t n = mw_look_series(l, MW_PART_HEAP);

	if (majors == MW_KIB_UNKNOWN)
		return true;
	share = heap_kept_share(e, l, n, since);
	if (share >= KEPT_SURELY && still_rises(l, n, since))
		return true;
	if (share < HEAP_KEPT_LEAST || !still_rises(l, n, t->since))
		return false;
	last = mw_look_last(l, n);
	all = last - mw_look_value_at(l, n, t->since);
	/* collections in between found a part full that has tripled */
	return majors >= MAJORS_LEAST || all > 2 * (last - all) || mw_made_bytes(e, t->since) > all / 4;
}

/* Did the series in t[] and v[] come to a new high in the last quarter of its time, by a tenth of its rate? */
static bool series_goes_on(const struct mw_look *l, size_t n, const struct mw_trend *t)
{
	double to = l->scale->to, quarter = (to - t->since) / 4, before = 0, late = 0;

	for (size_t i = 0; i < n; i++)
		if (l->t[i] >= to - quarter)
			late = mw_larger(late, l->v[i]);
		else if (l->t[i] >= t->since)
			before = mw_larger(before, l->v[i]);
	return late - before > t->rate * quarter / 10;
}

/* A part without a steady course must rise in each third of a longer time, by a quarter of RSS's rise. */
static bool part_keeps(const struct mw_look *l, enum mw_rss_part part, const struct mw_trend *t)
{
	size_t n;

	if (mw_look_is(l, part, MW_COURSE_RISES) || l->scale->to - t->since < MW_SETTLED_SECONDS)
		return true;
	n = mw_look_series(l, part);
	return mw_look_floor_rise(l, n, t->since, l->scale->to, t->gain / 4, MW_LOOK_STEADILY) > 0;
}

enum mw_keeps mw_kept(const struct mw_evidence *e, struct mw_look *l, enum mw_rss_part part)
{
	const struct mw_trend *t = mw_look_growth(l, part);
	enum mw_proof proof;
	double share;
	bool warms;
	size_t n;

	n = t == &l->line ? mw_look_curve(l, l->top) : mw_look_series(l, MW_PART_LIVE);
	/* teeth have highs of any height */
	if (part == MW_PART_LIVE && !t->teeth && !series_goes_on(l, n, t))
		return MW_KEEPS_NOT;
	/* no proof tells of the other parts, and each moves a little by itself */
	if (part != MW_PART_LIVE && t->gain < mw_larger(MIB, l->trend[MW_PART_RSS].level / 50))
		return MW_KEEPS_NOT;
	if (part == MW_PART_HEAP)
		return mw_heap_keeps(e, l, t) ? MW_KEEPS : MW_KEEPS_NOT;
	if (part != MW_PART_LIVE)
		return part_keeps(l, part, t) && series_goes_on(l, mw_look_series(l, part), t) ?
			       MW_KEEPS :
			       MW_KEEPS_NOT;
	share = mw_kept_share(e, l, t->since);
	if (share == share)
		return share >= KEPT_LEAST ? MW_KEEPS : MW_KEEPS_NOT;
	proof = mw_look_proof(l, part);
	/* nobody is accused before a better proof has come, but by collections over a longer time */
	if (!e->no_proof && proof != MW_PROOF_UNKNOWN && !is_unclear(e, l, t->since) &&
	    !(proof == MW_PROOF_HOLDS && l->scale->to - t->since >= MW_WARMING_SECONDS))
		return MW_KEEPS_NOT;
	if (proof != MW_PROOF_FAILS)
		return proof == MW_PROOF_SLOWS && l->scale->to - e->start < MW_WARMING_SECONDS ?
			       MW_KEEPS_NOT :
			       MW_KEEPS;
	warms = mw_warms_up(e, l, t);
	if (!mw_look_one_line(l, t->since) || mw_warms_up(e, l, &l->line))
		return MW_KEEPS_NOT;
	/* garbage of Ruby's never falls where no collection frees it */
	if (l->top->kind == MW_KIND_RUBY && !majors_since(l->scale, l->line.since))
		return MW_KEEPS_NOT;
	l->by_line &= !warms; /* else it is all live memory that warms up */
	return MW_KEEPS_LIKELY;
}

bool mw_line_keeps(const struct mw_evidence *e, const struct mw_look *l, const struct mw_curve *c,
		   const struct mw_trend *t, bool unproven)
{
	size_t n = mw_look_curve(l, c);
	double share;

	if (is_young(e, l, n, t) || mw_curve_stopped(e, l, c, t->since, t->gain))
		return false;
	share = share_of(e, l, c, t->since);
	if (share == share)
		return share >= KEPT_LEAST;
	n = mw_look_curve(l, c);
	return mw_proof_of(l->scale, l->t, l->v, n, t->since, l->scale->to, t->rate) != MW_PROOF_FAILS ||
	       (unproven && majors_since(l->scale, t->since) >= MAJORS_LEAST &&
		!mw_proof_fell(l->v, n, t->gain / 16));
}

/*
 * Of what a line that comes in steps has grown by, the part that the last proof saw kept, or lost. Between two proofs
 * there may be no step, so they aren't compared.
 */
static double stays_of(const struct mw_evidence *e, const struct mw_look *l, const struct mw_curve *c,
		       double since)
{
	const struct mw_held *last = mw_held_last(e->held, c->location, c->location_len);
	size_t n = mw_look_curve(l, c);
	double then = mw_look_value_at(l, n, since), now = mw_look_last(l, n);

	if (!last || last->t < since || mw_held_turns_over(e->held, c->location, c->location_len) ||
	    has_stopped(l, n, last, since, then == then ? then : 0))
		return UNKNOWN;
	return ((double)(last->kept + last->lost) - then) / mw_larger(now - then, 1);
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

/*
 * Steadily; or in steps, which no steady course describes: then its floor rose in each third of the time since
 * the start.
 */
static bool rises_for_good(const struct mw_evidence *e, const struct mw_look *l,
			   const struct mw_curve *c, size_t n, struct mw_trend *t)
{
	double to = l->scale->to, from = mw_larger(l->scale->from, e->start + STARTED_SECONDS), gain;

	/* what a proof sees kept is no start, even if it slows down */
	if (t->course == MW_COURSE_RISES)
		return !is_young(e, l, n, t) ||
		       (to - e->start >= MW_SETTLED_SECONDS &&
			share_of(e, l, c, mw_larger(t->since, from)) >= KEPT_SURELY);
	if (to - from < MW_SETTLED_SECONDS)
		return false;
	gain = mw_look_floor_rise(l, n, from, to, l->least, MW_LOOK_STEADILY);
	t->since = t->begun = from;
	t->gain = gain;
	t->rate = gain / (to - from);
	return gain > 0 && series_goes_on(l, n, t);
}

/* Is the line told to grow already? */
static bool is_told(const struct mw_evidence *e, const struct mw_curve *c)
{
	const struct mw_accused *a = e->accused;

	return a && a->len && a->len == c->location_len && !memcmp(a->location, c->location, a->len);
}

/*
 * The part of its growth that a line keeps. If the line is told already, a proof from before that growth is enough until
 * the next one, if it saw most of the line kept.
 */
static double keeps_of(const struct mw_evidence *e, const struct mw_look *l, const struct mw_curve *c,
		       double since)
{
	const struct mw_held *last = mw_held_last(e->held, c->location, c->location_len);
	double share = share_of(e, l, c, since);

	if (share == share || !last || !is_told(e, c))
		return share;
	if (last->t < e->start + MW_START_SECONDS || l->scale->to - last->t > PROOF_AGE_MOST ||
	    last->kept + last->lost < MW_HELD_GROWN)
		return UNKNOWN;
	return mw_held_part(last) >= KEPT_SURELY ? mw_held_part(last) : UNKNOWN;
}

/*
 * A line that is told, and rises on, needs no proof: it had one when it was accused, or none can be had. One that rises
 * may do so in steps, of which none came between the last two proofs.
 */
static bool is_proven(const struct mw_evidence *e, const struct mw_look *l, const struct mw_curve *c,
		      const struct mw_trend *t, double since)
{
	if (t->course != MW_COURSE_RISES)
		return stays_of(e, l, c, since) >= KEPT_LEAST;
	return keeps_of(e, l, c, since) >= KEPT_LEAST || stays_of(e, l, c, since) >= KEPT_SURELY ||
	       (is_told(e, c) && mw_line_keeps(e, l, c, t, true));
}

/*
 * Garbage may hide a rise of what is kept: proofs show it. It must be more than their samples' error, the last one
 * mustn't be of the past, and the line must still have so much. Fills *t.
 */
static bool rises_by_proofs(const struct mw_evidence *e, const struct mw_look *l,
			    const struct mw_curve *c, struct mw_trend *t)
{
	struct mw_held_rise rise;
	size_t n;

	if (!mw_held_rises(e->held, c->location, c->location_len, e->start + MW_START_SECONDS, &rise) ||
	    rise.gain < rise.stays / 5 || l->scale->to - rise.to > PROOF_AGE_MOST ||
	    mw_curve_stopped(e, l, c, rise.from, rise.gain))
		return false;
	n = mw_look_curve(l, c);
	if (mw_look_last(l, n) < rise.stays - rise.gain / 2 ||
	    has_stopped(l, n, mw_held_last(e->held, c->location, c->location_len), rise.from,
			rise.stays - rise.gain))
		return false;
	t->since = t->begun = rise.from;
	t->rate = rise.gain / (rise.to - rise.from);
	t->gain = rise.gain;
	return true;
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
		double since;

		mw_trend_of(&t, l->t, l->v, len, l->scale->from, to, l->least / 4);
		if (!rises_for_good(e, l, best[i], len, &t)) {
			if (rises_by_proofs(e, l, best[i], &t))
				add_line(k, best[i], &t);
			continue;
		}
		since = mw_larger(t.since, e->start + STARTED_SECONDS);
		if (mw_curve_stopped(e, l, best[i], t.since, t.gain))
			continue;
		if (is_proven(e, l, best[i], &t, since))
			add_line(k, best[i], &t);
	}
}

/* RSS; after a spike, when most of it is free in malloc's arenas, without that. */
static double in_use(const struct mw_look *l)
{
	double rss = mw_look_last(l, mw_look_series(l, MW_PART_RSS));
	double unused = mw_look_last(l, mw_look_series(l, MW_PART_FREE));

	return unused > rss / 2 ? rss - unused : rss;
}

bool mw_judge_kept_lines(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
			 size_t n)
{
	for (size_t i = 0; e->held && i < n; i++) {
		const struct mw_look *l = &looks[i];
		struct kept_lines k;

		find_kept_lines(&k, e, l);
		if (!k.n || k.sum.gain < mw_larger(l->least, in_use(l) / 100))
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
