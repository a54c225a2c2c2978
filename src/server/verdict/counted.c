/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counted.c - values that are counted, not measured: collections, threads, descriptors. See judge.h. */
#include <stddef.h>

#include "judge.h"

#define UNKNOWN __builtin_nan("")
#define KIB 1024.0
#define MIB (1024.0 * 1024)

/* --- collections that don't run ------------------------------------------------------ */

enum {
	IDLE_PROVEN = 30, /* seconds without a collection, if GC.disable was seen */
	IDLE_LIKELY = 60,
	YOUNG = 60, /* seconds: a process's threads may be its start */
	RISEN = 90  /* seconds: they are read every ten */
};

/* When the last collection began, as far as it is seen; NaN: not known. */
static double last_collection(const struct mw_scale *s)
{
	uint32_t before = MW_KIB_UNKNOWN;
	double at = UNKNOWN;

	for (size_t i = 0; i < s->n; i++) {
		if (s->points[i].gcs != before)
			at = s->points[i].t;
		before = s->points[i].gcs;
	}
	return before == MW_KIB_UNKNOWN ? UNKNOWN : at;
}

/* A heap that may collect grows by four fifths at most before the next collection. */
static bool heap_outgrew(const struct mw_look *l, double since)
{
	size_t n = mw_look_series(l, MW_PART_HEAP);
	double then = mw_look_value_at(l, n, since), now = mw_look_last(l, n);

	return now - then > 32 * MIB && now > 2.5 * then;
}

bool mw_judge_disabled(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks)
{
	const struct mw_look *l = &looks[0];
	double at = last_collection(l->scale), idle = l->scale->to - at, rate, rss, live;
	bool proven = e->gc_disabled > 0 && e->gc_disabled >= at;
	struct mw_trend t = { .confidence = proven ? 0.99 : 0.8, .since = at, .begun = at };

	if (!(idle >= (proven ? IDLE_PROVEN : IDLE_LIKELY)) || (!proven && !heap_outgrew(l, at)))
		return false;
	rss = mw_look_moved(l, MW_PART_RSS, at, mw_trend_difference);
	live = mw_look_moved(l, MW_PART_LIVE, at, mw_trend_difference);
	if (!(mw_larger(rss, live) >= 4 * MIB))
		return false;
	rate = (rss > live / 2 ? rss : live) / idle;
	t.rate = rate;
	t.gain = rate * idle;
	mw_judge_say(v, e, l, MW_VERDICT_DISABLED, rss > live / 2 ? MW_PART_RSS : MW_PART_LIVE, &t);
	v->rate_of = v->part;
	v->growing = true;
	v->idle = idle;
	v->disabled = proven;
	mw_judge_measure(v, l, at, l->scale->to, mw_trend_difference);
	return true;
}

/* --- threads and descriptors ---------------------------------------------------------- */

static const struct counted {
	enum mw_verdict_kind kind;
	size_t at;     /* in a point */
	double least;  /* a rise */
	double bytes;  /* of RAM that one of them may take, in all parts of memory */
	double live;   /* that one of them may have live */
	double stack; /* 0, or of that: a VM's stack. Ruby 3.3 and later have it in malloc, and touch little of it */
} counted[] = {
	{ MW_VERDICT_THREADS, offsetof(struct mw_point, threads), 12, 256 * KIB, MIB + 256 * KIB, MIB },
	{ MW_VERDICT_DESCRIPTORS, offsetof(struct mw_point, fds), 24, 20 * KIB, 20 * KIB, 0 },
};

static size_t series(const struct mw_look *l, const struct counted *c)
{
	const struct mw_scale *s = l->scale;

	for (size_t i = 0; i < s->n; i++) {
		uint32_t n = *(const uint32_t *)(const void *)((const char *)&s->points[i] + c->at);

		l->t[i] = s->points[i].t;
		l->v[i] = n == MW_KIB_UNKNOWN ? UNKNOWN : n;
	}
	return s->n;
}

/* Does that rise explain what that part of memory did meanwhile? */
static bool explains(const struct mw_look *l, const struct counted *c, const struct mw_trend *t,
		     enum mw_rss_part part)
{
	double most = part == MW_PART_LIVE ? c->live : c->bytes;

	return !(mw_look_moved(l, part, t->since, mw_trend_difference) > t->gain * most);
}

/* A line's live memory is that of threads if each of them has such a stack, and little else. */
static bool explains_live(const struct mw_look *l, const struct counted *c, const struct mw_trend *t)
{
	double live = mw_look_moved(l, MW_PART_LIVE, t->since, mw_trend_difference);
	double rss = mw_look_moved(l, MW_PART_RSS, t->since, mw_trend_difference);

	return c->stack > 0 && live > t->gain * c->stack * 0.9 && live < t->gain * c->live &&
	       rss < t->gain * c->bytes * 2;
}

/* What a collection closed again doesn't grow, until it is as many again. */
static bool has_fallen(const struct mw_look *l, const struct counted *c, const struct mw_trend *t)
{
	size_t n = series(l, c);
	double now = mw_look_last(l, n);

	for (size_t i = 0; i < n; i++)
		if (l->t[i] >= t->since && l->v[i] - now > t->gain / 2)
			return true;
	return false;
}

/* `of`: as in judge.h */
static bool explains_all(const struct mw_look *l, const struct counted *c, const struct mw_trend *t,
			 enum mw_rss_part of)
{
	if (of == MW_PARTS_N)
		return true;
	if (of == MW_PART_LIVE)
		return explains_live(l, c, t);
	return explains(l, c, t, of) && (of != MW_PART_RSS || explains(l, c, t, MW_PART_LIVE));
}

static bool judge_count(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
			size_t n, const struct counted *c, enum mw_rss_part of)
{
	const struct mw_look *chosen = NULL;
	struct mw_trend found = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct mw_trend t;
		size_t k = series(&looks[i], c);

		mw_trend_of(&t, looks[i].t, looks[i].v, k, looks[i].scale->from, looks[i].scale->to,
			    c->least);
		if (t.course != MW_COURSE_RISES || t.gain < t.level / 10 ||
		    looks[i].scale->to - t.since < RISEN || looks[i].scale->to - e->start < YOUNG ||
		    (chosen && t.rate < found.rate / 3) || has_fallen(&looks[i], c, &t) ||
		    !explains_all(&looks[i], c, &t, of))
			continue;
		chosen = &looks[i];
		found = t;
	}
	if (!chosen)
		return false;
	mw_judge_say(v, e, chosen, c->kind, MW_PART_RSS, &found);
	mw_judge_measure(v, chosen, found.since, chosen->scale->to, mw_trend_difference);
	/* a line that has more than they may take is another one's */
	if (of == MW_PARTS_N || !v->n || v->locations[0].change > found.gain * c->live)
		v->n = 0;
	v->growing = true;
	v->count = mw_look_last(chosen, series(chosen, c));
	v->count_gain = found.gain;
	v->change = mw_larger(v->moved[MW_PART_RSS], 0);
	v->rate = v->change / mw_larger(v->to - v->since, 1);
	v->level = v->high = v->now[MW_PART_RSS];
	return true;
}

bool mw_judge_counts(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
		     size_t n, enum mw_rss_part of)
{
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		if (judge_count(v, e, looks, n, &counted[i], of))
			return true;
	return false;
}
