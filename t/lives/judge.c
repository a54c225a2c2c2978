/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge.c - is a sentence right about a life?
 *
 * An accusation is true if what it accuses has grown in the time that it tells of, by a fifth of
 * what it says at least, by what is kept; and if it still grew in the last quarter of that time, or in the last
 * 90 s. It is right if what grows most isn't more than four times that.
 * "Nothing grows" is wrong if the floor of RSS rose by 1 MB and 2 % over the time that it tells of, in each third of it.
 */
#include "play.h"

#include <string.h>

const char *const outcome_names[OUTCOMES_N] = { "neutral",    "right",      "FALSE",         "MISSED",
						"WRONG KIND", "WRONG LINE", "FLAT OVER RISE" };

/* The time that a sentence tells of. */
struct window {
	double from, to, late; /* late: what is said in the present must have gone on since then */
};

static struct window window_of(const struct life *l, const struct mw_verdict *v, double t)
{
	struct window w = { .to = t };

	w.from = fmin(fmax(v->since - l->starts, 0), t - STEP);
	w.late = t - fmax(90, (t - w.from) / 4);
	return w;
}

static double rise(const float *v, double from, double to)
{
	return then_at(v, to) - then_at(v, from);
}

/* Did it grow by at least `least`, and go on? */
static bool rises(const float *v, const struct window *w, double least)
{
	double all = rise(v, w->from, w->to), late = rise(v, fmax(w->late, 0), w->to);
	double expected = all * (w->to - fmax(w->late, 0)) / fmax(w->to - w->from, 1);

	return all > 0 && all >= least && (w->late <= w->from || late >= expected / 10);
}

static bool part_rises(const struct part *p, const struct window *w, double least)
{
	double all = rise(p->grown_then, w->from, w->to);

	/* it goes on until its next step is overdue */
	if (p->steps)
		return all >= least && w->to < p->until && w->to >= p->from &&
		       w->to - p->next < 3 * p->period;
	return rises(p->grown_then, w, least);
}

/* --- accusations ------------------------------------------------------------------------- */

static const struct line *line_of(const struct life *l, const struct mw_verdict_location *at)
{
	for (size_t i = 0; i < l->lines_n; i++)
		if (strlen(l->lines[i].name) == at->len && !memcmp(l->lines[i].name, at->location, at->len))
			return &l->lines[i];
	return NULL;
}

/* The sentence names a line if that has much of it. */
static bool names_line(const struct mw_verdict *v)
{
	return v->n && v->locations[0].share >= 0.01;
}

static bool line_rises(const struct life *l, const struct line *line, const struct window *w, double said)
{
	const struct part *p = line->part >= 0 ? &l->parts[line->part] : NULL;

	if (p && p->steps)
		return rise(line->kept_then, w->from, w->to) >= said / 5 && part_rises(p, w, 0);
	return rises(line->kept_then, w, said / 5);
}

static double sum_rise(const struct life *l, const struct window *w)
{
	double sum = 0;

	for (size_t i = 0; i < l->lines_n; i++)
		sum += rise(l->lines[i].kept_then, w->from, w->to);
	return sum;
}

/* Which part a true accusation is about: its number; -1: the app itself; -2: it is false. */
enum { OF_APP = -1, OF_NONE = -2 };

static int accused_line(const struct life *l, const struct mw_verdict *v, const struct window *w)
{
	const struct line *line;
	int most = OF_NONE;

	if (names_line(v)) {
		line = line_of(l, &v->locations[0]);
		return line && line_rises(l, line, w, v->locations[0].change) ? line->part : OF_NONE;
	}
	for (size_t i = 0; i < l->parts_n; i++)
		if (l->parts[i].lines_n && part_rises(&l->parts[i], w, v->change / 5))
			most = (int)i;
	return most == OF_NONE && sum_rise(l, w) >= v->change / 5 && w->to < 120 ? OF_APP : most;
}

static int accused_explosion(const struct life *l, const struct mw_verdict *v, double t)
{
	struct window w = { t - 75, t, t - 75 };
	double rss = l->rss_then[(size_t)t] - l->rss_then[(size_t)fmax(t - 75, 0)];
	double kept = l->kept_then[(size_t)t] - l->kept_then[(size_t)fmax(t - 75, 0)];

	if (!(v->part == MW_PART_LIVE ? kept >= v->change * 0.4 : rss >= v->change * 0.8))
		return OF_NONE;
	for (size_t i = 0; i < l->parts_n; i++)
		if (part_rises(&l->parts[i], &w, v->change / 4))
			return (int)i;
	return OF_APP;
}

static int accused_count(const struct life *l, const struct mw_verdict *v, const struct window *w,
			 unsigned is)
{
	for (size_t i = 0; i < l->parts_n; i++)
		if ((l->parts[i].right & is) && rises(l->parts[i].count_then, w, v->count_gain / 2))
			return (int)i;
	return OF_NONE;
}

/* By parts whose kind it is, or by anything that makes that part of RSS grow for good. */
static int accused_part(const struct life *l, const struct mw_verdict *v, const struct window *w,
			unsigned is, const float *then)
{
	double said = v->moved[v->part] == v->moved[v->part] ? fmax(v->moved[v->part], 0) : 0;

	for (size_t i = 0; i < l->parts_n; i++)
		if ((l->parts[i].right & is) && part_rises(&l->parts[i], w, said / 5))
			return (int)i;
	for (size_t i = 0; then && i < l->parts_n; i++)
		if (rises(then, w, said / 5) && part_rises(&l->parts[i], w, said / 5))
			return (int)i;
	return then && rises(then, w, said / 5) ? OF_APP : OF_NONE;
}

static int accused_disabled(const struct life *l, double t)
{
	for (size_t i = 0; i < l->parts_n; i++)
		if ((l->parts[i].right & IS(DISABLED)) && (gc_is_off(l, t) || gc_is_off(l, t - 30)))
			return (int)i;
	return OF_NONE;
}

static int accused(const struct life *l, const struct mw_verdict *v, const struct window *w)
{
	switch (v->kind) {
	case MW_VERDICT_GROWS:
		return accused_line(l, v, w);
	case MW_VERDICT_EXPLODES:
		return accused_explosion(l, v, w->to);
	case MW_VERDICT_THREADS:
	case MW_VERDICT_DESCRIPTORS:
		return accused_count(l, v, w, 1u << v->kind);
	case MW_VERDICT_HEAP:
		return accused_part(l, v, w, IS(HEAP), l->heap_kept_then);
	case MW_VERDICT_STACKS:
		return accused_part(l, v, w, IS(STACKS), l->stacks_then);
	case MW_VERDICT_NATIVE:
		return accused_part(l, v, w, IS(NATIVE), l->anon_then);
	case MW_VERDICT_FRAGMENTATION:
	case MW_VERDICT_FILES:
		return accused_part(l, v, w, 1u << v->kind, NULL);
	case MW_VERDICT_DISABLED:
		return accused_disabled(l, w->to);
	default: /* the tracker: by what makes it grow */
		for (size_t i = 0; i < l->parts_n; i++)
			if (part_rises(&l->parts[i], w, v->change / 5))
				return (int)i;
		return OF_NONE;
	}
}

/* --- "Nothing grows" ------------------------------------------------------------------------ */

static double lowest(const struct life *l, double from, double to)
{
	double v = INFINITY;

	for (double t = fmax(floor(from), 0); t <= to; t++)
		v = fmin(v, l->rss_then[(size_t)t]);
	return v;
}

/* What rose at the begin only has ended: the floor of each third must be higher than the one before. */
static bool floor_rose(const struct life *l, double from, double to)
{
	double third = (to - from) / 3,
	       v[] = { lowest(l, from, from + third), lowest(l, from + third, to - third),
		       lowest(l, to - third, to) };
	double least = fmax(MB, v[2] / 50);

	return v[2] - v[0] > least && v[1] - v[0] > least / 3 && v[2] - v[1] > least / 3;
}

static bool flat_over_rise(const struct life *l, const struct mw_verdict *v, const struct moment *m)
{
	bool flat = v->kind == MW_VERDICT_FLAT;
	double from = fmax((flat ? v->since : v->from) - l->starts, 0), start = l->memory.boot + 5;

	if (play_stub == NO_STUB && strncmp(m->sentence, "Nothing grows", 13) != 0)
		return false;
	if (v->kind != MW_VERDICT_FLAT && v->kind != MW_VERDICT_SAWTOOTH)
		return false;
	/* a start is no growth, but it isn't flat either, unless it is little of the time */
	if (from < start && (!flat || start - from < (m->t - from) / 10))
		from = start;
	return m->t - from >= 30 && floor_rose(l, from, m->t);
}

/* --- what can be known ------------------------------------------------------------------------- */

static bool is_known(const struct play *p, const struct part *part, double t)
{
	return t < part->until && t >= part->ready && proof_could_be(p, part, t);
}

/* Its growth in a time, in bytes; what is counted weighs as much as the rest. */
static double weight(const struct life *l, const struct part *p, const struct window *w)
{
	double bytes = rise(p->grown_then, w->from, w->to);

	if (p->kind->truth == LEAKS && (p->right & (IS(THREADS) | IS(DESCRIPTORS))))
		bytes = fmax(bytes, l->rss / 20);
	return bytes;
}

static bool is_disturbed(const struct life *l, double t)
{
	for (size_t i = 0; i < l->parts_n; i++)
		if (l->parts[i].disturbs > 0 && t < l->parts[i].disturbs + 180)
			return true;
	return t < 60;
}

/* The heaviest growth that is known, or the heaviest of all that rises now. *which: the part; NULL. */
static double heaviest(const struct play *p, const struct window *w, bool known, int *which)
{
	double most = 0;

	for (size_t i = 0; i < p->life.parts_n; i++) {
		const struct part *part = &p->life.parts[i];

		if (!(known ? is_known(p, part, w->to) : part_rises(part, w, 0)))
			continue;
		if (which && weight(&p->life, part, w) >= most)
			*which = (int)i;
		most = fmax(most, weight(&p->life, part, w));
	}
	return most;
}

static unsigned right_kinds(const struct part *p)
{
	unsigned right = p->right;

	if (right & (IS(GROWS) | IS(NATIVE) | IS(HEAP) | IS(STACKS) | IS(DISABLED)))
		right |= IS(EXPLODES);
	return right;
}

/* A spike that is over has left much free memory, and nothing else goes on. */
static bool spike_is_over(const struct life *l, double t)
{
	double unused = l->memory.arenas - l->memory.used, before = 0;

	if (!l->memory.glibc || unused < fmax(20 * MB, l->rss / 3))
		return false;
	for (size_t i = 0; i < l->parts_n; i++) {
		const struct part *p = &l->parts[i];

		if (part_rises(p, &(struct window){ fmax(t - 300, 0), t, fmax(t - 90, 0) }, 0))
			return false;
		if (!strcmp(p->kind->name, "spike") && p->state > 1 && t > p->disturbs + 120)
			before = fmax(before, p->size);
	}
	return before > unused / 2;
}

/* If something else grows by as much, and no line is named, it is only the wrong kind. */
static void judge_false(const struct play *p, const struct mw_verdict *v, const struct window *w,
			struct moment *m)
{
	const struct life *l = &p->life;
	const struct line *line = names_line(v) ? line_of(l, &v->locations[0]) : NULL;

	if (heaviest(p, w, false, &m->blamed) > v->change / 5 && (v->kind != MW_VERDICT_GROWS || !line)) {
		m->outcome = WRONG_KIND;
		m->why = "something else grows";
		return;
	}
	m->outcome = FALSE_ACCUSATION;
	m->why = "what it accuses doesn't grow";
	m->blamed = line ? line->part : -1;
}

/* A proof has said who keeps most of the line, and the sentence doesn't. */
static bool hides_owner(const struct play *p, const struct mw_verdict *v, const struct moment *m)
{
	const struct line *line =
		v->kind == MW_VERDICT_GROWS && names_line(v) ? line_of(&p->life, &v->locations[0]) : NULL;
	const struct mw_held *h = line ? mw_held_last(&p->helds, line->name, strlen(line->name)) : NULL;

	return h && h->owner[0] && h->kept > h->garbage && !strstr(m->sentence, h->owner);
}

static void judge_growing(const struct play *p, const struct mw_verdict *v, const struct window *w,
			  struct moment *m)
{
	const struct life *l = &p->life;
	int of = accused(l, v, w);
	const struct part *part = of >= 0 ? &l->parts[of] : NULL;

	m->part = of;
	if (of == OF_NONE) {
		judge_false(p, v, w, m);
		return;
	}
	if (!m->known)
		return;
	(void)heaviest(p, w, true, &m->blamed);
	if (!part || !(right_kinds(part) & (1u << v->kind))) {
		m->outcome = WRONG_KIND;
		m->why = "it grows, but not by that";
	} else if (v->kind != MW_VERDICT_DISABLED && weight(l, part, w) * 4 < heaviest(p, w, true, NULL)) {
		m->outcome = WRONG_LINE;
		m->why = "another grows by four times as much";
	} else if (hides_owner(p, v, m)) {
		m->outcome = WRONG_LINE;
		m->why = "its owner is known, and not named";
	} else {
		m->outcome = RIGHT;
	}
}

/* --- what else is said ------------------------------------------------------------------------- */

static double live_at(const struct life *l, double t)
{
	double sum = 0;

	for (size_t i = 0; i < l->lines_n; i++)
		sum += then_at(l->lines[i].live_then, t);
	return sum;
}

/* Something was kept, and isn't any more; or GC.disable has ended. What collections free each time is no spike. */
static bool had_spike(const struct life *l, const struct mw_verdict *v, double t)
{
	double now = l->kept_then[(size_t)t], most = 0;

	for (double at = 0; at <= t; at++) {
		if (gc_is_off(l, at))
			return true;
		most = fmax(most, l->kept_then[(size_t)at] - now);
	}
	return most >= v->spike * 0.3;
}

static bool fell(const struct life *l, const struct mw_verdict *v, const struct window *w)
{
	double rss = l->rss_then[(size_t)w->from] - l->rss_then[(size_t)w->to];

	return fmax(rss, live_at(l, w->from) - live_at(l, w->to)) >= -v->change * 0.3;
}

/* NULL: it is no lie. */
static const char *lie_of(const struct life *l, const struct mw_verdict *v, const struct window *w)
{
	enum { START_MOST = 900 };

	switch (v->kind) {
	case MW_VERDICT_WARMING:
		return w->to > START_MOST ? "a start doesn't take so long" : NULL;
	case MW_VERDICT_SPIKE:
		return had_spike(l, v, w->to) ? NULL : "there was no spike";
	case MW_VERDICT_FALLS:
		return fell(l, v, w) ? NULL : "nothing fell";
	default:
		return NULL;
	}
}

static void judge_resting(const struct play *p, const struct mw_verdict *v, const struct window *w,
			  struct moment *m)
{
	const struct life *l = &p->life;
	struct window late = { fmax(w->to - 300, 0), w->to, fmax(w->to - 90, 0) };

	if (m->known) {
		bool other = heaviest(p, &late, false, NULL) > 4 * heaviest(p, &late, true, &m->blamed);

		m->outcome = other || is_disturbed(l, w->to) ? NEUTRAL : MISSED;
		m->why = "a growth that can be known isn't told";
	} else if (v->kind != MW_VERDICT_SPIKE && v->kind != MW_VERDICT_FALLS && spike_is_over(l, w->to)) {
		m->outcome = WRONG_KIND;
		m->why = "a spike is over, and has left free memory";
	} else if (lie_of(l, v, w)) {
		m->outcome = WRONG_KIND;
		m->why = lie_of(l, v, w);
	}
}

static uint32_t truth_at(const struct play *p, double t)
{
	uint32_t truth = (uint32_t)(p->helds.n * 64 + (t < 120));

	for (size_t i = 0; i < p->life.parts_n; i++) {
		const struct part *part = &p->life.parts[i];
		struct window w = { fmax(t - 120, 0), t, fmax(t - 60, 0) };

		truth = truth * 31 + (t >= part->from) + (t >= part->until) + is_known(p, part, t) * 2u +
			part_rises(part, &w, 0) * 4u +
			(part->disturbs > 0 && t < part->disturbs + 120) * 8u;
	}
	return truth;
}

void judge_moment(const struct play *p, const struct mw_verdict *v, struct moment *m)
{
	struct window w = window_of(&p->life, v, m->t);

	m->why = "";
	m->truth = truth_at(p, m->t);
	m->majors = p->life.gc.majors;
	for (size_t i = 0; i < p->life.parts_n; i++)
		m->known |= is_known(p, &p->life.parts[i], m->t);
	if (v->growing)
		judge_growing(p, v, &w, m);
	else
		judge_resting(p, v, &w, m);
	if (m->outcome != MISSED && flat_over_rise(&p->life, v, m)) {
		m->outcome = FLAT_OVER_RISE;
		m->why = "the floor of RSS rose";
	}
}

/* What was said is true for a while only, or until a major collection. */
static bool had_to_end(const struct moment *before, const struct moment *now)
{
	bool waited = before->kind == MW_VERDICT_UNCOLLECTED || now->kind == MW_VERDICT_UNCOLLECTED;

	return before->kind == MW_VERDICT_EXPLODES || before->kind == MW_VERDICT_WARMING ||
	       (waited && before->majors != now->majors);
}

/* Another kind than before, though what was said was right, and nothing has changed. */
void judge_flaps(struct play *p)
{
	for (size_t i = 1; i < p->moments_n; i++) {
		struct moment *m = &p->moments[i], *before = m - 1;
		bool mends = before->outcome > RIGHT && m->outcome <= RIGHT;

		m->flap = m->kind != before->kind && m->truth == before->truth && !mends && m->t > 120 &&
			  !had_to_end(before, m);
	}
}
