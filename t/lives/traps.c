/* SPDX-License-Identifier: GPL-2.0-or-later */
/* traps.c - parts that look like another: what comes and goes like a leak, and a leak beneath that. See life.h. */
#include "life.h"

/* --- what leaves some each time ----------------------------------------------------------- */

/* Each batch is let go of but for a part. size: of a batch; factor: what stays of it */
static void draw_residue(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, l->gc.ruby));
	p->period = chance_scale(&l->chance, 10, fmax(15, l->lasts / 15));
	p->size = draw_rate(l, p) * p->period * chance_scale(&l->chance, 2, 10);
	p->factor = chance_between(&l->chance, 0.1, 0.5);
	p->lasts = p->period * chance_between(&l->chance, 0.2, 0.8);
	p->swing = p->size * (1 - p->factor);
	p->next = p->from;
	p->steps = true;
}

static void leave_residue(struct life *l, struct part *p, double t)
{
	if (p->state > 0 && t >= p->next + p->lasts) {
		line_drop(l, p->lines[0], p->size * (1 - p->factor), p->next);
		p->grown += p->size * p->factor;
		p->state = 0;
		p->next += p->period;
		p->stepped++;
	}
	if (p->state <= 0 && t >= p->next && is_active(p, t)) {
		line_keep(l, p->lines[0], p->size);
		p->state = 1;
	}
}

/* Buffers as large as the largest request so far. */
static void draw_ratchet(struct life *l, struct part *p)
{
	(void)any_line(l, p);
	p->size = chance_scale(&l->chance, 100 * KB, 2 * MB);
	p->period = chance_scale(&l->chance, 2, 60);
}

static void ratchet(struct life *l, struct part *p, double t)
{
	double size;

	if (!is_active(p, t) || !chance_is(&l->chance, 1 / p->period))
		return;
	size = fmin(p->size / sqrt(chance_unit(&l->chance) + 1e-6), 100 * p->size);
	if (size <= p->grown)
		return;
	line_keep(l, p->lines[0], size - p->grown);
	p->grown = size;
}

/* --- what follows the load ------------------------------------------------------------------- */

static void draw_sessions(struct life *l, struct part *p)
{
	name_owner(l, any_line(l, p));
	p->size = chance_scale(&l->chance, 500 * KB, 60 * MB);
	p->period = chance_scale(&l->chance, 120, 14400);
	p->factor = chance_unit(&l->chance);
}

static void follow_load(struct life *l, struct part *p, double t)
{
	double x = fmod(t / p->period + p->factor, 1), want;

	want = p->size * (0.5 - 0.45 * cos(x * 2 * 3.14159265)) * chance_between(&l->chance, 0.99, 1.01);
	if (want > p->grown) {
		line_keep(l, p->lines[0], want - p->grown);
		p->grown = want;
	} else {
		let_go(l, p, p->grown - want, t - 30);
	}
}

static void draw_thread_churn(struct life *l, struct part *p)
{
	p->size = chance_scale(&l->chance, 4, 300);
	p->period = chance_scale(&l->chance, 60, 7200);
	p->factor = chance_unit(&l->chance);
}

static void churn_threads(struct life *l, struct part *p, double t)
{
	double x = fmod(t / p->period + p->factor, 1);
	double want = floor(p->size * (0.5 - 0.5 * cos(x * 2 * 3.14159265)) *
			    chance_between(&l->chance, 0.7, 1.3));

	l->memory.threads += want - p->count;
	l->memory.stacks += (want - p->count) * 30 * KB;
	p->count = want;
	p->grown = want * 42 * KB;
}

/* --- what goes with a collection ---------------------------------------------------------------- */

/* Files that nobody closes: their objects are collected, and that closes them. */
static void draw_unclosed(struct life *l, struct part *p)
{
	life_line(l, p, NULL, true);
	p->rate = chance_scale(&l->chance, 0.05, 5);
}

static void leave_open(struct life *l, struct part *p, double t)
{
	double n;

	if (l->gc.last > p->next) {
		p->next = l->gc.last;
		l->memory.fds -= p->count;
		p->count = 0;
	}
	p->state += is_active(p, t) ? p->rate * l->load_now : 0;
	n = floor(p->state);
	p->state -= n;
	p->count += n;
	l->memory.fds += n;
	line_churn(l, p->lines[0], n * 300);
}

/* Objects without memory of malloc, which are garbage soon; some become old before. */
static void draw_objects(struct life *l, struct part *p)
{
	p->rate = draw_rate(l, p) * 3;
	p->factor = chance_is(&l->chance, 0.5) ? 0 : chance_scale(&l->chance, 0.001, 0.2);
}

static void make_objects(struct life *l, struct part *p, double t)
{
	double bytes = is_active(p, t) ? p->rate * l->load_now : 0;

	l->gc.young += bytes * (1 - p->factor);
	l->gc.old += bytes * p->factor;
}

/* --- mappings that come and go -------------------------------------------------------------------- */

static void draw_mappings(struct life *l, struct part *p)
{
	p->size = chance_scale(&l->chance, MB, 80 * MB);
	p->period = chance_scale(&l->chance, 10, 900);
	p->lasts = p->period * chance_between(&l->chance, 0.2, 0.9);
}

static void map_for_a_while(struct life *l, struct part *p, double t)
{
	double x = fmod(fmax(t - p->from, 0), p->period), want;

	want = t >= p->from && x < p->lasts ? p->size * x / p->lasts : 0;
	l->memory.anon += want - p->grown;
	p->grown = want;
}

const struct part_kind traps[] = {
	{ "residue", 2, IS(GROWS), LEAKS, false, draw_residue, leave_residue, true },
	{ "ratchet", 1, IS(GROWS), FILLS, false, draw_ratchet, ratchet, true },
	{ "sessions", 1.5, IS(GROWS), FILLS, false, draw_sessions, follow_load, true },
	{ "thread_churn", 1.5, IS(THREADS) | IS(STACKS), FILLS, false, draw_thread_churn, churn_threads,
	  false },
	{ "unclosed", 1.5, IS(DESCRIPTORS), FILLS, true, draw_unclosed, leave_open, false },
	{ "objects", 1.5, 0, RESTS, true, draw_objects, make_objects, false },
	{ "mappings", 1, IS(NATIVE), FILLS, false, draw_mappings, map_for_a_while, false },
	{ 0 },
};
