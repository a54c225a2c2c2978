/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verdict.c - the order of the judgement. See verdict.h. */
#include <stdlib.h>

#include "judge.h"
#include "made.h"

#define UNKNOWN __builtin_nan("")
#define KIB 1024.0

const char *const mw_part_names[MW_PARTS_N] = { "rss",  "live",  "heap",   "free",
						"anon", "files", "stacks", "tracker" };

/* A young process that moves, but not steadily. */
static bool judge_young(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *l)
{
	size_t n = mw_look_series(l, MW_PART_RSS);
	double age = l->scale->to - e->start, first;
	struct mw_trend t = l->trend[MW_PART_RSS];

	if (e->chosen || age >= MW_START_SECONDS || t.course == MW_COURSE_UNKNOWN)
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

/*
 * A rise that has no one cause may hide what has: it is told instead. So is a line that proofs see kept, if Ruby's heap
 * grows by less: its objects may be that line's. blank: the verdict before it had a kind.
 */
static void look_beneath(struct mw_verdict *v, const struct mw_verdict *blank,
			 const struct mw_evidence *e, struct mw_look *looks, size_t n)
{
	bool vague = v->kind == MW_VERDICT_GREW || v->kind == MW_VERDICT_UNCOLLECTED;
	struct mw_verdict other = *blank;

	if (!vague && v->kind != MW_VERDICT_HEAP)
		return;
	if (mw_judge_kept_lines(&other, e, looks, n) ?
		    vague || other.rate > v->rate :
		    vague && (mw_judge_counts(&other, e, looks, n, MW_PARTS_N) ||
			      mw_judge_stairs(&other, e, looks, n)))
		*v = other;
}

/* Judges what goes on for longer than a minute. If a growth has stopped, *stopped is its range, else NULL. */
static void judge_course(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks,
			 size_t n, const struct mw_look **stopped)
{
	const struct mw_look *waits = NULL;
	const struct mw_verdict blank = *v;

	if (mw_judge_counts(v, e, looks, n, MW_PART_RSS))
		return;
	if (mw_judge_growth(v, e, looks, n, &waits, stopped)) {
		look_beneath(v, &blank, e, looks, n);
		/* stacks, also those of a VM, are threads', if there are more of them */
		if (v->kind == MW_VERDICT_STACKS || v->kind == MW_VERDICT_TRACKER ||
		    (v->kind == MW_VERDICT_GROWS && v->part == MW_PART_LIVE))
			(void)mw_judge_counts(v, e, looks, n, v->part);
		return;
	}
	if (mw_judge_kept_lines(v, e, looks, n) || mw_judge_counts(v, e, looks, n, MW_PARTS_N) ||
	    mw_judge_fall(v, e, looks, n) || judge_young(v, e, &looks[0]) ||
	    mw_judge_stairs(v, e, looks, n))
		return;
	if (waits) {
		if (!mw_judge_line(v, e, waits))
			mw_judge_uncollected(v, e, waits);
		return;
	}
	if (mw_judge_spike(v, e, looks, n) || mw_judge_ended(v, e, looks, n, MW_PART_RSS) ||
	    mw_judge_ended(v, e, looks, n, MW_PART_LIVE))
		return;
	if (*stopped)
		mw_judge_filled(v, e, *stopped);
	else
		mw_judge_rest(v, e, looks, n);
}

/*
 * A growth that is told of went on before as fast as in the last minute: in a young process, whatever grows steadily makes
 * memory half as large again.
 */
static bool was_as_fast(const struct mw_verdict *v, const struct mw_verdict *minute)
{
	double lasts = v->to - v->since;

	return v->growing && lasts >= 1.5 * MW_EXPLODES_SECONDS &&
	       v->moved[minute->rate_of] / lasts >= 0.7 * minute->rate;
}

static void judge_kind(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks,
		       size_t n, const struct mw_look **stopped)
{
	struct mw_verdict minute = *v;
	bool explodes;

	if (!e->chosen && mw_judge_disabled(v, e, looks))
		return;
	explodes = !e->chosen && mw_judge_explosion(&minute, e, &looks[0]);
	judge_course(v, e, looks, n, stopped);
	if (explodes && !was_as_fast(v, &minute)) {
		*v = minute;
		*stopped = NULL;
	}
}

/* So Fibers, or deeper calls, have what stacks grow by. */
static bool has_same_threads(const struct mw_scale *s, double since)
{
	uint32_t now = s->n ? s->points[s->n - 1].threads : MW_KIB_UNKNOWN;

	for (size_t i = 0; i < s->n && now != MW_KIB_UNKNOWN; i++)
		if (s->points[i].t >= since && s->points[i].threads != MW_KIB_UNKNOWN)
			return now <= s->points[i].threads;
	return false;
}

static void judge(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks, size_t n)
{
	const struct mw_look *stopped = NULL;

	judge_kind(v, e, looks, n, &stopped);
	v->at_once = stopped || (!v->growing && mw_accused_stopped(e, looks, n));
	mw_judge_add_proof(v, e, looks, n);
	if (e->held && e->held->heaps_n)
		v->reached = e->held->heap[e->held->heaps_n - 1];
	mw_judge_growers(v, e, looks, n);
	v->same_threads = v->kind == MW_VERDICT_STACKS && v->now[MW_PART_HEAP] == v->now[MW_PART_HEAP] &&
			  has_same_threads(looks[n - 1].scale, v->since);
	if (v->kind == MW_VERDICT_HEAP || v->part == MW_PART_HEAP || v->rate_of == MW_PART_HEAP ||
	    (v->kind == MW_VERDICT_EXPLODES && v->moved[MW_PART_HEAP] > v->change / 2) ||
	    (v->kind == MW_VERDICT_GROWS && v->moved[MW_PART_HEAP] > v->change))
		mw_made_find(e, v->kind == MW_VERDICT_GREW ? v->begun : v->since, v->to,
			     v->moved[MW_PART_HEAP], &v->made);
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
			looks[i].start = e->start;
			mw_look_at(&looks[i], &e->scales[i]);
		}
		if (!e->scales_n ||
		    (looks[0].seen < MW_TREND_SECONDS && !(e->chosen && looks[0].seen >= 10)))
			watching(v, &e->scales[0], looks[0].seen);
		else
			judge(v, e, looks, e->scales_n);
		if (e->paused)
			v->kind = MW_VERDICT_PAUSED;
		v->growing &= !e->paused;
	}
	free(room);
	free(looks);
	return looks && room ? 0 : -1;
}
