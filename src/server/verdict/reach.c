/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reach.c - see reach.h. */
#include "reach.h"

#include <stdlib.h>

#include "trend.h"
#include "verdict.h"
#include "words.h"

enum {
	MINUTE = 60,
	DAY = 86400,
	PAST_SECONDS = 60 /* a verdict whose range ended earlier is about the past */
};

/* --- finding it ------------------------------------------------------------------- */

struct series {
	double *t, *v; /* t owns both */
	size_t n;
};

/* RSS in bytes from then on. */
static bool read_rss(struct series *s, const struct mw_history *h, double from)
{
	const struct mw_history_grid g = mw_history_finest(h, from);

	*s = (struct series){ .t = calloc(g.n + 1, 2 * sizeof(*s->t)) };
	if (!s->t)
		return false;
	s->v = s->t + g.n + 1;
	for (uint32_t i = 0; i < g.n; i++) {
		const struct mw_point *p = mw_history_at(&g, i);

		if (p->rss == MW_KIB_UNKNOWN)
			continue;
		s->t[s->n] = p->t;
		s->v[s->n++] = (double)p->rss * 1024;
	}
	return true;
}

/* The floors of the first and the last fifth are four fifths of the time apart. */
static double rate(const struct series *s, double from, double to)
{
	return mw_trend_change(s->t, s->v, s->n, from, to) / ((to - from) * 0.8);
}

static void widen(double r, double *slow, double *fast)
{
	if (!mw_known(r))
		return;
	*slow = r < *slow ? r : *slow;
	*fast = r > *fast ? r : *fast;
}

void mw_reach_find(struct mw_reach *r, const struct mw_verdict *v, const struct mw_limits *l,
		   const struct mw_history *h, double start)
{
	const struct mw_point *last = mw_history_last(h);
	double middle = (v->since + v->to) / 2, slow = MW_REACH_NEVER, fast = 0, left;
	struct series s;

	*r = (struct mw_reach){ 0 };
	if (!l->of || !v->growing || !last || last->t > v->to + PAST_SECONDS || !(v->to > v->since) ||
	    !read_rss(&s, h, v->since))
		return;
	widen(rate(&s, v->since, v->to), &slow, &fast);
	widen(rate(&s, v->since, middle), &slow, &fast);
	widen(rate(&s, middle, v->to), &slow, &fast);
	free(s.t);
	left = l->used < l->bytes ? (double)(l->bytes - l->used) : 0;
	if (!(fast > 0) || left / fast > MW_REACH_SECONDS ||
	    left / fast > MW_REACH_TIMES * (v->to - v->since))
		return;
	if (l->of == MW_LIMIT_MACHINE && l->used < l->bytes / 2)
		return;
	*r = (struct mw_reach){ .of = l->of,
				.limit = (double)l->bytes,
				.soonest = left / fast,
				.latest = slow > 0 ? left / slow : MW_REACH_NEVER,
				.unix_now = start + v->to };
}

/* --- in words --------------------------------------------------------------------- */

static const char *const begins[MW_LIMITS_N] = {
	[MW_LIMIT_MAX] = "the container's limit of ",
	[MW_LIMIT_V1] = "the container's limit of ",
	[MW_LIMIT_AS] = "the address space's limit (RLIMIT_AS) of ",
	[MW_LIMIT_MACHINE] = "the machine's memory of ",
	[MW_LIMIT_HIGH] = "the container's memory.high of ",
};

/* 14:05; of UTC, for the local time needs the app's locks and files. */
static void clock_time(struct mw_buf *b, double unix_time)
{
	unsigned minute = (unsigned)((uint64_t)(unix_time + MINUTE / 2.0) / MINUTE % (DAY / MINUTE));

	mw_buf_fmt(b, "%02u:%02u", minute / 60, minute % 60);
}

static void at_times(struct mw_buf *b, const struct mw_reach *r, bool range)
{
	mw_buf_str(b, r->latest >= DAY && r->soonest < DAY ? "from " : range ? "between " : "at ");
	clock_time(b, r->unix_now + r->soonest);
	if (r->latest >= DAY) {
		mw_buf_str(b, " UTC on, if it goes on as fast");
		return;
	}
	if (range) {
		mw_buf_str(b, " and ");
		clock_time(b, r->unix_now + r->latest);
	}
	mw_buf_str(b, " UTC");
}

static void in_days(struct mw_buf *b, const struct mw_reach *r, bool range)
{
	mw_buf_str(b, range ? "in " : "in about ");
	mw_words_duration(b, r->soonest);
	if (range && r->latest < MW_REACH_NEVER) {
		mw_buf_str(b, " to ");
		mw_words_duration(b, r->latest);
	} else if (range) {
		mw_buf_str(b, " at the earliest");
	}
}

void mw_words_reach(struct mw_buf *b, const struct mw_reach *r)
{
	bool range = r->latest > r->soonest * 1.2 && r->latest > r->soonest + 2 * MINUTE;

	if (!r->of)
		return;
	mw_buf_str(b, " At this rate ");
	mw_buf_str(b, begins[r->of]);
	mw_words_bytes(b, r->limit);
	mw_buf_str(b, " is reached ");
	if (r->soonest < MINUTE)
		mw_buf_str(b, "within a minute");
	else if (r->soonest < DAY)
		at_times(b, r, range);
	else
		in_days(b, r, range);
	mw_buf_str(b, ".");
}
