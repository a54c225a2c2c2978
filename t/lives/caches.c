/* SPDX-License-Identifier: GPL-2.0-or-later */
/* caches.c - parts that keep some, and let go of it again. See life.h. */
#include "life.h"

/* --- full at a size: each new entry replaces the oldest ---------------------------------- */

void draw_lru(struct life *l, struct part *p)
{
	double time = fmax(l->lasts - p->from, 60);

	name_owner(l, any_line(l, p));
	p->size = chance_scale(&l->chance, MB, 150 * MB);
	p->lasts = chance_scale(&l->chance, 10, time);
	p->rate = p->size / p->lasts;
	p->factor = chance_is(&l->chance, 0.6);
}

/* Of what the part keeps. */
void let_go(struct life *l, struct part *p, double bytes, double born)
{
	bytes = fmin(bytes, p->grown);
	line_drop(l, p->lines[0], bytes, born);
	p->grown -= bytes;
}

static void fill_lru(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t), room = p->size - p->grown;

	line_keep(l, p->lines[0], bytes);
	p->grown += bytes;
	if (bytes > room)
		let_go(l, p, bytes - fmax(room, 0), t - p->size / p->rate);
}

/* --- each entry goes after a time --------------------------------------------------------- */

static void draw_ttl(struct life *l, struct part *p)
{
	draw_lru(l, p);
	p->lasts = chance_scale(&l->chance, 20, 900);
	p->rate = p->size / p->lasts;
}

static void fill_ttl(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	line_keep(l, p->lines[0], bytes);
	p->grown += bytes;
	if (t - p->from > p->lasts)
		let_go(l, p, bytes * chance_between(&l->chance, 0.8, 1.2), t - p->lasts);
}

/* --- cleared when it is full -------------------------------------------------------------- */

static void fill_sized(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	line_keep(l, p->lines[0], bytes);
	p->grown += bytes;
	if (p->grown > p->size)
		let_go(l, p, p->grown, t - p->lasts / 2);
}

/* --- a finite number of keys: new ones get rarer --------------------------------------------- */

static void fill_memo(struct life *l, struct part *p, double t)
{
	double left = 1 - p->grown / p->size, bytes = 3 * steady(l, p, t) * fmax(left, 0);

	line_keep(l, p->lines[0], bytes);
	p->grown += bytes;
}

/* --- nothing is kept: all goes with the next major collection ------------------------------ */

static void draw_weak(struct life *l, struct part *p)
{
	life_line(l, p, NULL, true);
	p->rate = draw_rate(l, p);
	p->lines[0]->ages = 0.9;
}

static void fill_weak(struct life *l, struct part *p, double t)
{
	line_churn(l, p->lines[0], steady(l, p, t));
}

/* Requests whose objects live long enough to become old. */
static void draw_aging(struct life *l, struct part *p)
{
	size_t n = 1 + chance_below(&l->chance, 5);

	for (size_t i = 0; i < n; i++)
		life_line(l, p, NULL, true)->ages = chance_scale(&l->chance, 0.02, 0.5);
	p->rate = draw_rate(l, p) * 2;
	p->factor = 1;
}

static void age(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	for (size_t i = 0; i < p->lines_n; i++)
		line_churn(l, p->lines[i], bytes / (double)p->lines_n);
}

/* --- a pool: it grows to its size, and stays ------------------------------------------------ */

static void draw_pool(struct life *l, struct part *p)
{
	life_line(l, p, NULL, true);
	p->count = 0;
	p->size = floor(chance_scale(&l->chance, 4, 200));
	p->lasts = chance_scale(&l->chance, 5, fmin(600, l->lasts / 2));
	p->rate = p->size / p->lasts;
}

static void fill_pool(struct life *l, struct part *p, double t)
{
	double n;

	if (!is_active(p, t) || p->count >= p->size)
		return;
	p->state += p->rate * l->load_now;
	n = floor(p->state);
	p->state -= n;
	p->count += n;
	l->memory.threads += n;
	l->memory.fds += n;
	l->memory.stacks += n * 30 * KB;
	line_keep(l, p->lines[0], n * 20 * KB);
	p->grown += n * 62 * KB;
}

const struct part_kind caches[] = {
	{ "lru", 3, IS(GROWS), FILLS, false, draw_lru, fill_lru, true },
	{ "ttl", 2, IS(GROWS), FILLS, false, draw_ttl, fill_ttl, true },
	{ "sized", 1, IS(GROWS), FILLS, false, draw_ttl, fill_sized, true },
	{ "memo", 2, IS(GROWS), FILLS, false, draw_lru, fill_memo, true },
	{ "weak", 2, 0, RESTS, true, draw_weak, fill_weak, true },
	{ "aging", 2, 0, RESTS, true, draw_aging, age, true },
	{ "pool", 1, IS(THREADS) | IS(DESCRIPTORS) | IS(STACKS) | IS(GROWS), FILLS, true, draw_pool,
	  fill_pool, false },
	{ 0 },
};
