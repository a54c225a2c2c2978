/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proofs.c - a forked child's answers about a verdict's suspects, true by construction. As pages/suspects.h
 * has it: at most one in five minutes, none in the first one. The answer comes 2 to 20 s later.
 */
#include <string.h>

#include "play.h"

enum { PROOF_SECONDS = 300, FIRST_SECONDS = 60, MAJORS_LEAST = 6, WAIT_SECONDS = 100 };

#define UNKNOWN __builtin_nan("")

/* The begin of the generation that was the present one in the middle of the growth. */
static double old_time(const struct life *l, double since, double t)
{
	double from = fmax(since, 0), at = from + (t - from) / 2, old = UNKNOWN;

	for (double s = from + 1; s <= at; s++)
		if (l->gc.gcs_then[(size_t)s] != l->gc.gcs_then[(size_t)s - 1])
			old = floor(s);
	return old;
}

static const struct line *line_named(const struct life *l, const char *name, size_t len)
{
	for (size_t i = 0; i < l->lines_n; i++)
		if (strlen(l->lines[i].name) == len && !memcmp(l->lines[i].name, name, len))
			return &l->lines[i];
	return NULL;
}

/* The child looks at some of the blocks only. */
static double sampled(struct life *l, double share)
{
	return fmin(fmax(share + chance_between(&l->chance, -0.02, 0.02), 0), 1);
}

/* Of the bytes that it kept at a time, those that it still keeps. */
static double still_kept(const struct line *line, double old, double t)
{
	double kept = then_at(line->kept_then, old);

	for (size_t at = (size_t)old / STEP + 1; at <= (size_t)t / STEP; at++)
		if (line->born_then[at] < old)
			kept -= line->dropped_then[at] - line->dropped_then[at - 1];
	return fmax(fmin(kept, line->kept + line->lost), 0);
}

static struct mw_held answer(struct life *l, const struct line *line, double since, double t)
{
	double live = line_live(line), stays = line->kept + line->lost, old = old_time(l, since, t), share;
	struct mw_held h = { .t = l->starts + t,
			     .location = (char *)(uintptr_t)line->name,
			     .len = (uint32_t)strlen(line->name),
			     .blocks = (uint64_t)(live / line->block),
			     .old_t = UNKNOWN };

	share = live > 0 ? stays / live : 0;
	if (share > 0.02 && share < 0.98)
		share = sampled(l, share);
	h.lost = (uint64_t)fmin(line->lost, live * share);
	h.kept = (uint64_t)(live * share) - h.lost;
	h.garbage = (uint64_t)live - h.kept - h.lost;
	if (line->kept > line->lost)
		memcpy(h.owner, line->owner, sizeof(line->owner));
	if (old == old) {
		h.old_t = l->starts + old;
		h.old_bytes = then_at(line->live_then, old);
		h.old_kept = still_kept(line, old, t);
	}
	return h;
}

bool proof_is_due(const struct play *p, double t)
{
	double now = p->life.starts + t;

	return p->life.proves && p->answer_t >= NEVER && now >= p->proof_next && now >= FIRST_SECONDS;
}

void proof_want(struct play *p, const struct mw_verdict *v, double t)
{
	struct life *l = &p->life;

	if (!proof_is_due(p, t) || !mw_verdict_wants_proof(v))
		return;
	p->answers_n = 0;
	for (size_t i = 0; i < v->suspects_n; i++) {
		const struct line *line = line_named(l, v->suspects[i].location, v->suspects[i].len);

		if (line)
			p->answers[p->answers_n++] = answer(l, line, v->since - l->starts, t);
	}
	/* beside what is kept, what requests in flight have */
	p->heap = (uint64_t)(l->gc.kept + l->gc.young / 20);
	p->answer_t = t + floor(chance_between(&l->chance, 2, 20));
	p->proof_t = t;
	p->proof_next = l->starts + t + PROOF_SECONDS;
}

void proof_second(struct play *p, double t)
{
	if (t < p->answer_t)
		return;
	for (size_t i = 0; i < p->answers_n; i++)
		(void)mw_helds_add(&p->helds, &p->answers[i]);
	if (p->life.gc.ruby)
		mw_helds_add_heap(&p->helds, p->life.starts + p->proof_t, p->heap);
	p->gc_disabled = gc_is_off(&p->life, p->proof_t) ? p->life.starts + p->proof_t : -1;
	p->answer_t = NEVER;
}

static bool majors_prove(const struct life *l, const struct part *p)
{
	return l->gc.majors_done >= p->majors_from + MAJORS_LEAST;
}

static bool is_proven(const struct play *p, const struct part *part)
{
	for (size_t i = 0; i < part->lines_n; i++) {
		const struct mw_held *h =
			mw_held_last(&p->helds, part->lines[i]->name, strlen(part->lines[i]->name));

		if (h && h->t - p->life.starts >= part->ready)
			return true;
	}
	return false;
}

bool proof_could_be(const struct play *p, const struct part *part, double t)
{
	const struct life *l = &p->life;
	double first = fmax(part->ready, p->proof_t + PROOF_SECONDS);

	if (t < part->ready)
		return false;
	if (!part->kind->by_line || !l->gc.ruby)
		return true;
	if (!l->proves)
		return majors_prove(l, part);
	/* the last proof may have been too early for it: then the next one comes in a while */
	return is_proven(p, part) || t >= first + WAIT_SECONDS;
}
