/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moves.c - parts that move memory, and end: warm-ups, spikes, batches, GC.disable. See life.h. */
#include <stdio.h>

#include "life.h"

/* --- warm-ups ------------------------------------------------------------------------- */

static void draw_templates(struct life *l, struct part *p)
{
	char file[100];
	size_t n = 1 + chance_below(&l->chance, 6);

	snprintf(file, sizeof(file), "%s", life_file(l));
	for (size_t i = 0; i < n; i++)
		life_line(l, p, chance_is(&l->chance, 0.5) ? file : NULL, true);
	p->from = 0;
	p->size = chance_scale(&l->chance, MB, 40 * MB);
	p->lasts = chance_scale(&l->chance, 10, 200);
}

/* Two thirds of the rest in each `lasts`. */
static void fill_templates(struct life *l, struct part *p, double t)
{
	double bytes = (p->size - p->grown) * 1.1 / p->lasts * l->load_now;

	bytes = is_active(p, t) ? fmin(fmax(bytes, 0), fmax(p->size - p->grown, 0)) : 0;
	for (size_t i = 0; i < p->lines_n; i++)
		line_keep(l, p->lines[i], bytes / (double)p->lines_n);
	p->grown += bytes;
}

static void draw_jit(struct life *l, struct part *p)
{
	p->from = 0;
	p->size = chance_scale(&l->chance, MB, 30 * MB);
	p->lasts = chance_scale(&l->chance, 20, 300);
}

static void fill_jit(struct life *l, struct part *p, double t)
{
	double bytes = is_active(p, t) ? (p->size - p->grown) * 1.1 / p->lasts * l->load_now : 0;

	bytes = fmin(fmax(bytes, 0), fmax(p->size - p->grown, 0));
	l->memory.anon += bytes;
	p->grown += bytes;
}

/* Constants that are loaded when they are first named: a step each. */
static void draw_autoload(struct life *l, struct part *p)
{
	draw_templates(l, p);
	p->lasts = chance_scale(&l->chance, 60, 400);
	p->period = chance_scale(&l->chance, 3, 30);
}

static void autoload(struct life *l, struct part *p, double t)
{
	double bytes = p->size * p->period / p->lasts;

	if (t < p->next || t > p->lasts)
		return;
	p->next = t + p->period * chance_between(&l->chance, 0.5, 1.5) * (1 + 3 * t / p->lasts);
	line_keep(l, p->lines[chance_below(&l->chance, p->lines_n)], bytes);
	p->grown += bytes;
}

/* --- spikes -------------------------------------------------------------------------------- */

static void draw_spike(struct life *l, struct part *p)
{
	struct line *line = life_line(l, p, NULL, l->gc.ruby);

	p->from = chance_between(&l->chance, 0.1, 0.6) * l->lasts;
	p->size = chance_scale(&l->chance, 20 * MB, 500 * MB);
	p->period = chance_scale(&l->chance, 5, 120); /* to its peak */
	p->lasts = chance_scale(&l->chance, 5, 120);  /* at its peak */
	line->mapped = false;
	line->collects = false; /* the end of the report collects it */
	line->slots = 0;
}

static void draw_mapped_spike(struct life *l, struct part *p)
{
	draw_spike(l, p);
	p->lines[0]->mapped = true;
	p->lines[0]->block = MB;
}

static void spike(struct life *l, struct part *p, double t)
{
	double end = p->from + p->period + p->lasts;

	if (t < p->from || p->state > 1)
		return;
	p->disturbs = t + 1;
	if (t < p->from + p->period) {
		line_keep(l, p->lines[0], p->size / p->period);
	} else if (t >= end) {
		line_drop(l, p->lines[0], p->lines[0]->kept, p->from);
		p->state = 2;
	}
	p->grown = p->lines[0]->kept;
}

/* --- work that comes and goes ----------------------------------------------------------------- */

static void draw_batch(struct life *l, struct part *p)
{
	draw_spike(l, p);
	p->from = chance_between(&l->chance, 0, 0.2) * l->lasts;
	p->size = chance_scale(&l->chance, MB, 60 * MB);
	p->period = chance_scale(&l->chance, 10, 400);
	p->factor = chance_between(&l->chance, 0.2, 0.9); /* of a period: the work */
}

static void batch(struct life *l, struct part *p, double t)
{
	double x = fmod(t - p->from, p->period) / p->period;

	if (t < p->from)
		return;
	if (x < p->factor)
		line_keep(l, p->lines[0],
			  p->size / (p->period * p->factor) * chance_between(&l->chance, 0.9, 1.1));
	else
		line_drop(l, p->lines[0], p->lines[0]->kept, t - p->period);
	p->grown = p->lines[0]->kept;
}

/* Something large is given up: RSS falls. */
static void draw_fall(struct life *l, struct part *p)
{
	draw_mapped_spike(l, p);
	p->size = chance_scale(&l->chance, 5 * MB, 100 * MB);
	p->lasts = chance_scale(&l->chance, 5, 600);
}

static void fall(struct life *l, struct part *p, double t)
{
	if (t < 1)
		line_keep(l, p->lines[0], p->size);
	if (is_active(p, t) && t < p->from + p->lasts) {
		line_drop(l, p->lines[0], p->size / p->lasts, 0);
		p->disturbs = t + 1;
	}
}

/* --- collections ------------------------------------------------------------------------------- */

static void draw_disable(struct life *l, struct part *p)
{
	struct line *line = life_line(l, p, NULL, true);

	p->lasts = chance_is(&l->chance, 0.4) ? l->lasts : chance_scale(&l->chance, 60, 900);
	p->rate = draw_rate(l, p) * 3;
	p->rate = fmin(p->rate, 1024 * MB / fmin(p->lasts, l->lasts));
	line->block = chance_scale(&l->chance, 40, 1000);
	line->slots = 40 / line->block;
	for (size_t i = 0; i < l->lines_n; i++)
		l->lines[i].churn = fmin(l->lines[i].churn, p->rate / 8);
	l->gc.off_from = p->from;
	l->gc.off_until = p->until = p->from + p->lasts;
}

static void disable(struct life *l, struct part *p, double t)
{
	line_churn(l, p->lines[0], p->rate * l->load_now);
	if (is_active(p, t))
		p->grown += p->rate * l->load_now * (1 + p->lines[0]->slots);
}

const struct part_kind moves[] = {
	{ "templates", 2, IS(GROWS), FILLS, true, draw_templates, fill_templates, true },
	{ "jit", 2, IS(NATIVE), FILLS, true, draw_jit, fill_jit, false },
	{ "autoload", 2, IS(GROWS), FILLS, true, draw_autoload, autoload, true },
	{ "spike", 3, IS(GROWS), FILLS, false, draw_spike, spike, true },
	{ "mapped_spike", 1, IS(GROWS), FILLS, false, draw_mapped_spike, spike, true },
	{ "batch", 2, IS(GROWS), FILLS, false, draw_batch, batch, true },
	{ "fall", 1, 0, RESTS, false, draw_fall, fall, true },
	{ "disable", 2, IS(DISABLED), LEAKS, true, draw_disable, disable, false },
	{ 0 },
};
