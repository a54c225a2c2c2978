/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge.c - is a sentence right about a life?
 *
 * A true accusation is right if what grows most isn't more than four times what it accuses.
 * "Nothing grows" is wrong if the floor of RSS rose by 1 MB and 2 % over the time that it tells of, in each third of it.
 */
#include "judge.h"

#include <string.h>

const char *const outcome_names[OUTCOMES_N] = { "neutral",    "right",      "FALSE",         "MISSED",
						"WRONG KIND", "WRONG LINE", "FLAT OVER RISE" };

static struct window window_of(const struct life *l, const struct mw_verdict *v, double t)
{
	struct window w = { .to = t };

	w.from = fmin(fmax(v->since - l->starts, 0), t - STEP);
	w.late = t - fmax(90, (t - w.from) / 4);
	return w;
}

/* --- "Nothing grows" ------------------------------------------------------------------------ */

static double lowest(const struct life *l, double from, double to)
{
	double v = INFINITY;

	for (double t = fmax(floor(from), 0); t <= to; t++)
		v = fmin(v, l->rss_then[(size_t)t]);
	return v;
}

/* The floor of each third must be higher than the one before: a series that rose only at its begin doesn't rise. */
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
	double to = fmin(play_stub == NO_STUB ? v->to - l->starts : m->t,
			 m->t); /* a sentence is told for a while */

	if (play_stub == NO_STUB && strncmp(m->sentence, "Nothing grows", 13) != 0)
		return false;
	if (v->kind != MW_VERDICT_FLAT && v->kind != MW_VERDICT_SAWTOOTH)
		return false;
	/* a start is no growth, but it isn't flat either, unless it is little of the time */
	if (from < start && (!flat || start - from < (to - from) / 10))
		from = start;
	return to - from >= 30 && floor_rose(l, from, to);
}

/* --- what can be known ------------------------------------------------------------------------- */

/* Ruby's heap gets pages by as much as half of what the part keeps; else its objects fill slots that were free. */
static bool heap_shows(const struct life *l, const struct part *part, double t)
{
	struct window w = { fmax(t - 300, part->from), t, t };

	return part->right != IS(HEAP) ||
	       rise(l->heap_then, w.from, w.to) >= rise(part->grown_then, w.from, w.to) / 2;
}

static bool is_known(const struct play *p, const struct part *part, double t)
{
	return heap_shows(&p->life, part, t) && t < part->until && t >= part->ready &&
	       proof_could_be(p, part, t);
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
		/* memory that a start frees is no spike */
		if (!strcmp(p->kind->name, "spike") && p->from >= 120 && p->state > 1 &&
		    t > p->disturbs + 120)
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
	int of = accused(l, v, w, m->sentence);
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

/* Something was kept, and isn't any more; or GC.disable has ended. Garbage that each collection frees is no spike. */
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

static double lowest_live(const struct life *l, double from, double to)
{
	double v = INFINITY;

	for (double t = from; t <= to; t += STEP)
		v = fmin(v, live_at(l, t));
	return v;
}

/* By the floors of the first and the last fifth. */
static bool fell(const struct life *l, const struct mw_verdict *v, const struct window *w)
{
	double fifth = (w->to - w->from) / 5, first = w->from + fifth, last = w->to - fifth;
	double rss = lowest(l, w->from, first) - lowest(l, last, w->to);

	return fmax(rss, lowest_live(l, w->from, first) - lowest_live(l, last, w->to)) >= -v->change * 0.3;
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

uint32_t judge_truth(const struct play *p, double t)
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

/* For the matrix: what is so, whatever is said. */
static void note_truth(const struct play *p, const struct mw_verdict *v, struct moment *m)
{
	struct window late = { fmax(m->t - 300, 0), m->t, fmax(m->t - 90, 0) };
	const struct line *line = names_line(v) ? line_of(&p->life, &v->locations[0]) : NULL;
	int which = -1;

	m->is = MW_VERDICT_KINDS_N;
	if (heaviest(p, &late, true, &which) > 0 && which >= 0) {
		unsigned right = right_kinds(&p->life.parts[which]);

		m->is = right & (1u << v->kind) ?
				v->kind :
				(enum mw_verdict_kind)__builtin_ctz(p->life.parts[which].right);
	}
	if (line)
		m->names = line->part == which ? NAMES_ITS_LINE : NAMES_ANOTHER;
}

/* Do the locations that are said to grow, however little, keep what they gained, and go on? */
static void judge_growers(const struct life *l, const struct mw_verdict *v, struct moment *m)
{
	m->growers = (unsigned)v->growers_n;
	m->beside = mw_verdict_beside(v);
	for (size_t i = 0; i < v->growers_n; i++) {
		const struct mw_grower *g = &v->growers[i];
		const struct line *line = line_of(l, &g->at);
		struct window w = { .from = fmax(g->since - l->starts, 0), .to = m->t };
		bool wrong;

		w.late = m->t - fmax(90, (m->t - w.from) / 4);
		wrong = !line || !line_rises(l, line, &w, g->at.change);
		m->growers_false += wrong;
		m->beside_false |= wrong && !i && m->beside;
	}
}

void judge_moment(const struct play *p, const struct mw_verdict *v, struct moment *m)
{
	struct window w = window_of(&p->life, v, m->t);

	m->why = "";
	m->truth = judge_truth(p, m->t);
	m->majors = p->life.gc.majors;
	for (size_t i = 0; i < p->life.parts_n; i++)
		m->known |= is_known(p, &p->life.parts[i], m->t);
	note_truth(p, v, m);
	judge_growers(&p->life, v, m);
	if (v->growing)
		judge_growing(p, v, &w, m);
	else
		judge_resting(p, v, &w, m);
	if (m->outcome != MISSED && flat_over_rise(&p->life, v, m)) {
		m->outcome = FLAT_OVER_RISE;
		m->why = "the floor of RSS rose";
	}
}

/* The sentence before is true for a while only, or until a major collection. */
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
