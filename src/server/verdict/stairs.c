/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stairs.c - a location whose live memory doubles: one String, Array or table that is appended to. See
 * judge.h.
 *
 * Such a curve is flat for longer and longer, so it is no steady rise. It grows if it has doubled twice or
 * more, never fell, and the last step is no older than the next one may take.
 */
#include "judge.h"

#define MIB (1024.0 * 1024)
#define KEPT_LEAST 0.4

enum { CANDIDATES = 3, DOUBLED_LEAST = 2, BOOT_SECONDS = 60, LASTS = 60 /* seconds */ };

struct stairs {
	unsigned doubled;
	double begun, last; /* when it began to double, and when it did so the last time */
	double gap;         /* the longest time between two steps */
	double from, to;    /* bytes */
	double climbed;     /* by its steps */
	double factor, least, most; /* of the last step, and the less and the more of the last two */
};

/* A step goes up by a third or more from one point to the next, or to the one after it. */
static double step_at(const double *v, size_t i)
{
	double before = v[i - 1];

	if (v[i] < before * 1.33 && i > 1)
		before = v[i - 2];
	return v[i] >= before * 1.33 ? v[i] - before : 0;
}

/* A buffer that is appended to grows by the same factor each time. One with room for the largest request doesn't. */
static void note_factor(struct stairs *s, double factor)
{
	s->least = s->factor > 0 && s->factor < factor ? s->factor : factor;
	s->most = mw_larger(s->factor, factor);
	s->factor = factor;
}

static void climb(struct stairs *s, double t, double to, double by)
{
	note_factor(s, to / (to - by));
	if (!s->doubled++) {
		s->begun = t;
		s->from = to - by;
	} else {
		s->gap = mw_larger(s->gap, t - s->last);
	}
	s->last = t;
	s->climbed += by;
}

/* A value that rises steadily, or falls, is no stair; nor is one that starts from next to nothing. */
static bool find_stairs(struct stairs *s, const double *t, const double *v, size_t n, double booted,
			double least)
{
	size_t i = 0;

	*s = (struct stairs){ 0 };
	while (i < n && (t[i] < booted || v[i] < least))
		i++;
	for (s->from = i < n ? v[i++] : 0; i < n; i++) {
		double by = v[i] >= v[i - 1] ? step_at(v, i) : 0;

		if (v[i] < s->to * 0.9)
			return false;
		if (by > least && (!s->doubled || v[i] > s->to * 1.33))
			climb(s, t[i], v[i], by);
		s->to = mw_larger(s->to, v[i]);
	}
	return s->doubled >= DOUBLED_LEAST && s->last - s->begun >= LASTS && s->to > 3 * s->from &&
	       s->climbed > (s->to - s->from) * 0.8 && s->most < s->least * 1.25;
}

static bool stairs_go_on(const struct stairs *s, double to)
{
	return to - s->last < 2.5 * mw_larger(s->gap, 30);
}

bool mw_judge_stairs(struct mw_verdict *v, const struct mw_evidence *e, struct mw_look *looks, size_t n)
{
	struct mw_look *l = &looks[n > 1 ? 1 : 0]; /* up to six hours */
	const struct mw_curve *best[CANDIDATES];
	double change[CANDIDATES], less, to = l->scale->to;
	size_t most = mw_look_changed(l, l->scale->from, to, mw_trend_difference, best, change,
				      CANDIDATES, &less);

	for (size_t i = 0; i < most; i++) {
		struct stairs s;
		/* between two steps nothing grows, so the last proof alone counts, and all that it saw */
		double kept =
			mw_held_part(mw_held_last(e->held, best[i]->location, best[i]->location_len));

		if (kept < KEPT_LEAST || change[i] < mw_larger(change[0] / 2, MIB) ||
		    !find_stairs(&s, l->t, l->v, mw_look_curve(l, best[i]), e->start + BOOT_SECONDS,
				 MIB / 4) ||
		    !stairs_go_on(&s, to))
			continue;
		l->top = best[i];
		l->line = (struct mw_trend){
			.course = MW_COURSE_RISES,
			.since = s.begun,
			.begun = s.begun,
			.gain = s.to - s.from,
			.rate = (s.to - s.from) / mw_larger(to - s.begun, 1),
			.level = s.to,
			.high = s.to,
			.confidence = 0.8
		};
		mw_judge_say(v, e, l, MW_VERDICT_GROWS, MW_PART_LIVE, &l->line);
		mw_judge_measure(v, l, l->scale->from, to, mw_trend_difference);
		mw_judge_put_first(v, l);
		v->growing = true;
		v->doubled = s.doubled;
		return true;
	}
	return false;
}
