/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leaks.c - parts that keep what they allocate at lines, for good. See life.h. */
#include <stdio.h>

#include "life.h"

/* --- steadily, or as the load does ------------------------------------------------------ */

void draw_steady(struct life *l, struct part *p)
{
	p->rate = draw_rate(l, p);
	p->factor = chance_is(&l->chance, 0.6);
}

void draw_string(struct life *l, struct part *p)
{
	struct line *line = any_line(l, p);

	draw_steady(l, p);
	name_owner(l, line);
	if (line->app)
		return;
	/* the same line makes garbage, too */
	line->churn = chance_is(&l->chance, 0.4) ? p->rate * chance_scale(&l->chance, 0.2, 20) : 0;
	line->ages = chance_is(&l->chance, 0.3) ? chance_scale(&l->chance, 0.001, 0.1) : 0;
}

static void draw_closure(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, true));
	draw_steady(l, p);
	p->lines[0]->block = 80;
	p->lines[0]->slots = 1.5;
	p->right |= IS(HEAP);
}

static void draw_native(struct life *l, struct part *p)
{
	life_line(l, p, NULL, false);
	draw_steady(l, p);
}

void keep_steadily(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	for (size_t i = 0; i < p->lines_n; i++) {
		line_keep(l, p->lines[i], bytes / (double)p->lines_n);
		if (!p->lines[i]->app && p->lines[i]->churn > 0)
			line_churn(l, p->lines[i], p->lines[i]->churn * l->load_now);
	}
	p->grown += bytes;
}

/* Nothing leads to it: a structure of C whose finalizer forgets it. */
static void lose_steadily(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	p->lines[0]->lost += bytes;
	p->grown += bytes;
}

/* --- over several lines ----------------------------------------------------------------- */

static void draw_spread(struct life *l, struct part *p)
{
	const char *file = life_file(l);
	size_t n = 3 + chance_below(&l->chance, 10);
	char name[100];

	snprintf(name, sizeof(name), "%s", file);
	for (size_t i = 0; i < n; i++)
		name_owner(l, life_line(l, p, name, true));
	draw_steady(l, p);
}

/* eval: one line of Ruby has most of it, Ruby's own code the rest. */
static void draw_iseq(struct life *l, struct part *p)
{
	draw_spread(l, p);
	p->lines[0]->block = 600;
	p->lines[0]->slots = 0.3;
}

static void keep_first(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t), rest = 0.25;

	for (size_t i = 1; i < p->lines_n; i++)
		line_keep(l, p->lines[i], bytes * rest / (double)(p->lines_n - 1));
	line_keep(l, p->lines[0], bytes * (1 - rest));
	p->grown += bytes;
}

/* --- by steps --------------------------------------------------------------------------- */

/* One block that doubles: a log in a StringIO. */
static void draw_buffer(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, true));
	draw_steady(l, p);
	p->lines[0]->block = 64 * KB;
	p->lines[0]->mapped = true;
	p->lines[0]->slots = 0;
	p->size = 64 * KB;
	p->steps = true;
}

static void fill_buffer(struct life *l, struct part *p, double t)
{
	double before = p->size;

	p->state += steady(l, p, t);
	while (p->state > p->size)
		p->size *= 2;
	p->lines[0]->untouched = p->size - p->state;
	if (p->size <= before && p->stepped)
		return;
	line_keep(l, p->lines[0], p->stepped ? p->size - before : p->size);
	p->grown = p->size;
	p->stepped++;
	p->period = fmax(p->period, 2 * (t - p->next));
	p->next = t;
}

/* Entries at one line, and their table, which doubles, at another. */
static void draw_hash(struct life *l, struct part *p)
{
	draw_string(l, p);
	name_owner(l, life_line(l, p, NULL, true));
	p->lines[1]->mapped = true;
	p->lines[1]->slots = 0;
	p->lines[1]->block = MB;
	p->size = 32 * KB;
}

static void fill_hash(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t), entries;

	line_keep(l, p->lines[0], bytes);
	if (!p->lines[0]->app)
		line_churn(l, p->lines[0], p->lines[0]->churn * l->load_now);
	p->grown += bytes;
	entries = p->lines[0]->kept / p->lines[0]->block * 24;
	while (p->size < entries) {
		line_keep(l, p->lines[1], p->size);
		p->grown += p->size;
		p->size *= 2;
	}
}

/* A job that comes now and then keeps some each time. */
static void draw_job(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, true));
	draw_steady(l, p);
	p->period = chance_scale(&l->chance, 15, fmax(20, l->lasts / 10));
	p->next = p->from;
	p->steps = true;
}

static void run_job(struct life *l, struct part *p, double t)
{
	double bytes = p->rate * p->period * chance_between(&l->chance, 0.6, 1.4);

	if (t < p->next || !is_active(p, t))
		return;
	p->next = t + p->period * chance_between(&l->chance, 0.8, 1.2);
	p->stepped++;
	line_keep(l, p->lines[0], bytes);
	line_churn(l, p->lines[0], bytes * chance_between(&l->chance, 0, 3));
	p->grown += bytes;
}

/* It is mended, or its cause goes, while the process runs. */
static void draw_ended(struct life *l, struct part *p)
{
	draw_string(l, p);
	p->from = chance_between(&l->chance, 0, l->lasts * 0.2);
	p->until = p->from + chance_between(&l->chance, 0.3, 0.6) * l->lasts;
}

const struct part_kind leaks[] = {
	{ "string", 4, IS(GROWS), LEAKS, true, draw_string, keep_steadily, true },
	{ "closure", 2, IS(GROWS), LEAKS, true, draw_closure, keep_steadily, true },
	{ "c_block", 3, IS(GROWS), LEAKS, false, draw_native, keep_steadily, true },
	{ "finalizer", 2, IS(GROWS), LEAKS, true, draw_native, lose_steadily, true },
	{ "spread", 3, IS(GROWS), LEAKS, true, draw_spread, keep_steadily, true },
	{ "iseq", 2, IS(GROWS), LEAKS, true, draw_iseq, keep_first, true },
	{ "buffer", 2, IS(GROWS), LEAKS, true, draw_buffer, fill_buffer, true },
	{ "hash", 2, IS(GROWS), LEAKS, true, draw_hash, fill_hash, true },
	{ "job", 2, IS(GROWS), LEAKS, true, draw_job, run_job, true },
	{ "ended", 1, IS(GROWS), LEAKS, true, draw_ended, keep_steadily, true },
	{ 0 },
};
