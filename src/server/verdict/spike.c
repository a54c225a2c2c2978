/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spike.c - memory that is free since live memory was higher. See judge.h.
 *
 * It is told if nothing grows: at least a quarter of RSS, and SPIKE_LEAST, is free in malloc's arenas, and
 * live memory was higher before by at least half of that.
 */
#include "judge.h"

#define MIB (1024.0 * 1024)
#define SPIKE_LEAST (16 * MIB)

enum {
	JUMP_SECONDS = 60,
	SWEEP_SECONDS = 15, /* that a collection takes, and the time between two points */
	BOOT_SECONDS = 120, /* memory that a start frees is no spike */
	OVER_SECONDS = 60 /* since then: what comes and goes more often is no spike */
};

static bool is_much(double unused, double rss)
{
	return unused >= SPIKE_LEAST && unused >= rss / 4;
}

bool mw_verdict_much_free(const struct mw_verdict *v)
{
	return is_much(v->now[MW_PART_FREE], v->now[MW_PART_RSS]);
}

struct peak {
	double t, above; /* bytes above what is live now */
	double end;      /* it was half as high for the last time */
};

/* One that came and went once. */
static bool find_peak(const struct mw_look *l, struct peak *p)
{
	size_t n = mw_look_series(l, MW_PART_LIVE); /* by the second: finer than the locations */
	double now = mw_look_last(l, n);
	bool was_high = false;
	int times = 0;

	*p = (struct peak){ 0 };
	for (size_t i = 0; i < n; i++)
		if (l->v[i] - now > p->above) {
			p->above = l->v[i] - now;
			p->t = l->t[i];
		}
	p->end = p->t;
	for (size_t i = 0; i < n; i++) {
		bool high = l->v[i] - now > p->above / 2;

		if (high && l->t[i] > p->t)
			p->end = l->t[i];
		times += high && !was_high;
		was_high = high;
	}
	return p->above > 0 && times == 1 && l->scale->to - p->end >= OVER_SECONDS;
}

/*
 * A spike may come and go between two readings of live memory. RSS shows it: it jumped, and stays. It was
 * over as soon as RSS rose no more.
 */
static bool find_jump(const struct mw_look *l, double unused, struct peak *p)
{
	size_t n = mw_look_series(l, MW_PART_RSS);
	double now = mw_look_last(l, n), before = now;

	*p = (struct peak){ 0 };
	for (size_t i = 0; i < n; i++)
		if (l->v[i] < now - unused / 2) {
			p->t = l->t[i];
			before = l->v[i];
		}
	for (size_t i = n; i-- && l->t[i] > p->t && l->v[i] >= now - unused / 8;)
		p->end = l->t[i];
	if (!(p->t > 0) || p->end - p->t > JUMP_SECONDS || l->scale->to - p->end < OVER_SECONDS)
		return false;
	p->above = now - before;
	return true;
}

/* The location that had most then which it hasn't now comes first; none is told if it had little of it. */
static void find_line(struct mw_verdict *v, const struct mw_look *l, const struct peak *p)
{
	const struct mw_curve_set *set = l->scale->curves;
	const struct mw_curve *most = NULL;
	double above = p->above / 4;

	for (size_t i = 0; set && i < set->n; i++) {
		size_t n = mw_look_curve(l, &set->v[i]);
		double less = mw_look_value_at(l, n, p->t) - mw_look_last(l, n);

		if (less > above) {
			above = less;
			most = &set->v[i];
		}
	}
	v->n = most != NULL;
	if (most)
		v->locations[0] = (struct mw_verdict_location){
			.location = most->location,
			.len = most->location_len,
			.file_len = most->file_len,
			.kind = most->kind,
			.change = above,
			.share = above < p->above ? above / p->above : 1
		};
}

/* Did a major collection end it? Then it was garbage, which rises to such heights each time. */
static bool was_collected(const struct mw_scale *s, const struct peak *p)
{
	uint32_t before = MW_KIB_UNKNOWN;

	for (size_t i = 0; i < s->n && s->points[i].t <= p->end + SWEEP_SECONDS; i++) {
		if (s->points[i].t >= p->t && before != MW_KIB_UNKNOWN && s->points[i].majors != before)
			return true;
		before = s->points[i].majors;
	}
	return false;
}

bool mw_judge_spike(struct mw_verdict *v, const struct mw_evidence *e, const struct mw_look *looks,
		    size_t n)
{
	const struct mw_look *l = &looks[0];
	double rss = mw_look_last(l, mw_look_series(l, MW_PART_RSS));
	double unused = mw_look_last(l, mw_look_series(l, MW_PART_FREE));
	struct mw_trend t = l->trend[MW_PART_RSS];
	struct peak p = { 0 };

	if (!is_much(unused, rss))
		return false;
	for (size_t i = 0; i < n && p.above < unused / 2; i++) {
		l = &looks[i];
		if (!find_peak(l, &p))
			p.above = 0;
	}
	for (size_t i = 0; i < n && p.above < unused / 2; i++) {
		l = &looks[i];
		if (!find_jump(l, unused, &p))
			p.above = 0;
	}
	if (p.above < unused / 2 || p.t < e->start + BOOT_SECONDS || was_collected(l->scale, &p))
		return false;
	mw_judge_say(v, e, &looks[0], MW_VERDICT_SPIKE, MW_PART_FREE, &t);
	mw_judge_measure(v, &looks[0], looks[0].scale->from, looks[0].scale->to, mw_trend_change);
	find_line(v, l, &p);
	v->rate = v->change = 0;
	v->spike = p.above;
	v->spike_end = p.end;
	v->since = v->begun = p.end;
	return true;
}
