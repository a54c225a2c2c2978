/* SPDX-License-Identifier: GPL-2.0-or-later */
/* judge.c - begins a verdict: its kind, the course that it tells of, and the event that may be the cause. See judge.h. */
#include "judge.h"

#include <string.h>

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
	v->rate_of = t == &l->trend[part] ? part : MW_PART_RSS;
	v->change = t->gain;
	v->level = t->level;
	v->high = t->high;
	v->confidence = t->confidence;
	v->at_location = l->top && t == &l->line;
	find_event(v, e, v->begun, mw_larger((v->to - v->from) / 30, 5));
}
