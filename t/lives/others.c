/* SPDX-License-Identifier: GPL-2.0-or-later */
/* others.c - parts that are less usual. See life.h. */
#include <stdio.h>

#include "life.h"

/* --- leaks ---------------------------------------------------------------------------- */

/* Names that come from requests: a string, a symbol, and now and then a larger table of all. */
static void draw_symbols(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, true));
	draw_steady(l, p);
	p->lines[0]->block = 48;
	p->lines[0]->slots = 40.0 / 48;
	p->right |= IS(HEAP);
	life_line(l, p, NULL, true)->mapped = true;
	p->lines[1]->slots = 0;
	p->lines[1]->block = MB;
	p->size = 256 * KB;
}

static void intern(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	line_keep(l, p->lines[0], bytes);
	p->grown += bytes * (1 + p->lines[0]->slots);
	while (p->size < p->lines[0]->kept / 3) {
		line_keep(l, p->lines[1], p->size);
		p->grown += p->size;
		p->size *= 2;
	}
}

/* A map whose keys are weak, and kept elsewhere: entries, their objects, and the map's own table. */
static void draw_weak_keys(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, true));
	draw_steady(l, p);
	name_owner(l, life_line(l, p, NULL, true));
	p->right |= IS(HEAP);
}

static void keep_keys(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	line_keep(l, p->lines[0], bytes / 4);
	line_keep(l, p->lines[1], bytes / 4);
	l->gc.kept += bytes / 2;
	p->grown += bytes;
}

/* Pictures: each a large block. */
static void draw_large(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, true));
	p->rate = draw_rate(l, p);
	p->size = chance_scale(&l->chance, 200 * KB, 8 * MB);
	p->period = p->size / p->rate;
	p->steps = p->period > 4;
	p->lines[0]->mapped = true;
	p->lines[0]->block = p->size;
	p->lines[0]->slots = 0;
}

static void keep_large(struct life *l, struct part *p, double t)
{
	double n;

	p->state += steady(l, p, t);
	n = floor(p->state / p->size);
	if (n < 1)
		return;
	p->state -= n * p->size;
	p->next = t;
	p->stepped++;
	line_keep(l, p->lines[0], n * p->size);
	p->grown += n * p->size;
}

/* It gets worse at a time: a release, a new client. */
static void keep_faster(struct life *l, struct part *p, double t)
{
	if (p->next <= 0)
		p->next = p->from + chance_between(&l->chance, 0.3, 0.7) * (l->lasts - p->from);
	if (t >= p->next && p->state < 1) {
		p->state = 1;
		p->rate *= chance_scale(&l->chance, 2, 10);
	}
	keep_steadily(l, p, t);
}

/* Code that is loaded anew: the old one is garbage, some of it is kept. */
static void draw_reload(struct life *l, struct part *p)
{
	char file[100];
	size_t n = 2 + chance_below(&l->chance, 8);

	snprintf(file, sizeof(file), "%s", life_file(l));
	for (size_t i = 0; i < n; i++)
		name_owner(l, life_line(l, p, file, true));
	p->rate = draw_rate(l, p);
	p->period = chance_scale(&l->chance, 10, fmax(15, l->lasts / 12));
	p->factor = chance_between(&l->chance, 0, 4);
	p->next = p->from;
	p->steps = true;
}

static void reload(struct life *l, struct part *p, double t)
{
	double bytes = p->rate * p->period;

	if (t < p->next || !is_active(p, t))
		return;
	p->next = t + p->period * chance_between(&l->chance, 0.7, 1.3);
	p->stepped++;
	for (size_t i = 0; i < p->lines_n; i++) {
		p->lines[i]->ages = 0.8;
		line_keep(l, p->lines[i], bytes / (double)p->lines_n);
		line_churn(l, p->lines[i], bytes * p->factor / (double)p->lines_n);
	}
	p->grown += bytes;
}

/* --- what grows and ends ------------------------------------------------------------------ */

/* More comes than goes, for a while; then the backlog is worked off. */
static void draw_backlog(struct life *l, struct part *p)
{
	draw_lru(l, p);
	p->lasts = chance_between(&l->chance, 0.1, 0.5) * (l->lasts - p->from);
	p->rate = p->size / p->lasts;
}

static void work_off(struct life *l, struct part *p, double t)
{
	double since = t - p->from, bytes;

	if (since < 0)
		return;
	if (since >= p->lasts) {
		let_go(l, p, p->rate * 2, t - p->lasts / 2);
		return;
	}
	bytes = steady(l, p, t);
	line_keep(l, p->lines[0], bytes);
	p->grown += bytes;
}

/* Each thread gets an arena of its own; their number has an end. */
static void draw_arenas(struct life *l, struct part *p)
{
	p->size = chance_scale(&l->chance, 4 * MB, 80 * MB);
	p->lasts = chance_scale(&l->chance, 30, 900);
	if (!l->memory.glibc)
		p->right = IS(NATIVE);
}

static void fill_arenas(struct life *l, struct part *p, double t)
{
	double bytes = is_active(p, t) ? (p->size - p->grown) * 1.1 / p->lasts * l->load_now : 0;

	bytes = fmax(bytes, 0);
	l->memory.wasted += bytes;
	l->memory.arenas += bytes;
	p->grown += bytes;
}

/* A file that is read by mmap; the kernel takes pages back at times. */
static void draw_file_cache(struct life *l, struct part *p)
{
	p->size = chance_scale(&l->chance, 5 * MB, 200 * MB);
	p->lasts = chance_scale(&l->chance, 30, 900);
	p->period = chance_scale(&l->chance, 60, 3000);
}

static void read_file(struct life *l, struct part *p, double t)
{
	double bytes = is_active(p, t) ? (p->size - p->grown) / p->lasts * l->load_now : 0;

	if (t > p->from && fmod(t - p->from, p->period) < 1)
		bytes = -p->grown * chance_unit(&l->chance);
	l->memory.files += bytes;
	p->grown += bytes;
}

/* --- what comes and goes ------------------------------------------------------------------- */

/* Requests of very different sizes: the highest so far rises now and then, ever more rarely. */
static void draw_peaks(struct life *l, struct part *p)
{
	life_line(l, p, NULL, false);
	p->size = chance_scale(&l->chance, 200 * KB, 4 * MB);
	p->period = chance_scale(&l->chance, 3, 60);
}

static void peak(struct life *l, struct part *p, double t)
{
	line_drop(l, p->lines[0], p->lines[0]->kept, t);
	if (t < p->from || !chance_is(&l->chance, 1 / p->period))
		return;
	line_keep(l, p->lines[0], fmin(p->size / pow(chance_unit(&l->chance), 0.7), 200 * MB));
}

/* Its own stack gets deep once. */
static void draw_deep(struct life *l, struct part *p)
{
	p->from = chance_unit(&l->chance) * l->lasts;
	p->size = chance_scale(&l->chance, 100 * KB, 8 * MB);
}

static void recurse(struct life *l, struct part *p, double t)
{
	if (t < p->from || p->state > 0)
		return;
	p->state = 1;
	l->memory.stacks += p->size;
}

const struct part_kind others[] = {
	{ "symbol", 1, IS(GROWS), LEAKS, true, draw_symbols, intern, true },
	{ "weak_keys", 1, IS(GROWS), LEAKS, true, draw_weak_keys, keep_keys, true },
	{ "large", 1.5, IS(GROWS), LEAKS, true, draw_large, keep_large, true },
	{ "worse", 1, IS(GROWS), LEAKS, true, draw_string, keep_faster, true },
	{ "reload", 1.5, IS(GROWS), LEAKS, true, draw_reload, reload, true },
	{ "backlog", 1.5, IS(GROWS), FILLS, false, draw_backlog, work_off, true },
	{ "arenas", 1.5, IS(FRAGMENTATION), FILLS, false, draw_arenas, fill_arenas, false },
	{ "file_cache", 1, IS(FILES), FILLS, false, draw_file_cache, read_file, false },
	{ "peaks", 1.5, 0, RESTS, false, draw_peaks, peak, false },
	{ "deep", 0.5, 0, RESTS, false, draw_deep, recurse, false },
	{ 0 },
};
