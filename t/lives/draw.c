/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draw.c - a life by chance. See life.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "life.h"

const struct part_kind *part_kinds[KINDS_MAX];
size_t part_kinds_n;

static void know_kinds(void)
{
	const struct part_kind *all[] = { leaks, leaks_counted, caches, moves, others, traps };

	part_kinds_n = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (const struct part_kind *k = all[i]; k->name; k++)
			part_kinds[part_kinds_n++] = k;
}

bool life_has_kind(const char *name)
{
	know_kinds();
	for (size_t i = 0; i < part_kinds_n; i++)
		if (!strcmp(part_kinds[i]->name, name))
			return true;
	return false;
}

/* --- lines ------------------------------------------------------------------------------ */

const char *life_file(struct life *l)
{
	static const char *const gems[] = { "activerecord-7.0.4", "rack-2.2.4",  "json-2.6.2",
					    "nokogiri-1.14.0",    "redis-4.8.0", "sidekiq-6.5.8",
					    "liquid-5.4.0",       "mail-2.8.0" };
	static const char *const words[] = { "audit",  "order",   "cache", "client", "report",
					     "mailer", "session", "event", "parser", "pool",
					     "index",  "stats",   "queue", "record" };
	static char name[100];
	struct chance *c = &l->chance;
	const char *word = words[chance_below(c, 14)];
	unsigned n = (unsigned)chance_below(c, 900);

	if (chance_is(c, 0.5))
		snprintf(name, sizeof(name), "/srv/app/lib/%s_%u.rb", word, n);
	else
		snprintf(name, sizeof(name), "/usr/lib/ruby/gems/3.1.0/gems/%s/lib/%s_%u.rb",
			 gems[chance_below(c, 8)], word, n);
	return name;
}

static bool is_named(const struct life *l, const struct line *line)
{
	for (size_t i = 0; i < l->lines_n; i++)
		if (&l->lines[i] != line && !strcmp(l->lines[i].name, line->name))
			return true;
	return false;
}

static void name_line(struct life *l, struct line *line, const char *file, bool ruby)
{
	static const char *const modules[] = {
		"/usr/lib/x86_64-linux-gnu/libvips.so.42", "/srv/app/ext/fast.so",
		"/usr/lib/x86_64-linux-gnu/libxml2.so.2", "/usr/bin/server"
	};
	struct chance *c = &l->chance;
	int n;

	if (ruby) {
		n = snprintf(line->name, sizeof(line->name), "%s", file ? file : life_file(l));
		snprintf(line->name + n, sizeof(line->name) - (size_t)n, ":%u",
			 (unsigned)chance_below(c, 400) + 1);
	} else {
		n = snprintf(line->name, sizeof(line->name), "%s",
			     file ? file : modules[chance_below(c, 4)]);
		snprintf(line->name + n, sizeof(line->name) - (size_t)n, "(+0x%x) [0x%x]",
			 (unsigned)chance_below(c, 1 << 20), (unsigned)chance_below(c, 1 << 30));
	}
	line->file_len = (uint32_t)n;
}

struct line *life_line(struct life *l, struct part *part, const char *file, bool ruby)
{
	struct line *line = &l->lines[l->lines_n];

	if (l->lines_n == LINES_MAX)
		abort();
	*line = (struct line){ .part = part ? (int)(part - l->parts) : -1,
			       .kind = ruby ? MW_KIND_RUBY : MW_KIND_NATIVE,
			       .block = chance_scale(&l->chance, 40, 4000),
			       .collects = ruby,
			       .live_then = calloc(LIFE_MAX / STEP + 2, sizeof(float)),
			       .dropped_then = calloc(LIFE_MAX / STEP + 2, sizeof(float)),
			       .born_then = calloc(LIFE_MAX / STEP + 2, sizeof(float)),
			       .kept_then = calloc(LIFE_MAX / STEP + 2, sizeof(float)) };
	if (ruby)
		line->slots = 40 / line->block;
	do
		name_line(l, line, file, ruby);
	while (is_named(l, line));
	l->lines_n++;
	if (part)
		part->lines[part->lines_n++] = line;
	return line;
}

/* A line that makes garbage may leak, too. */
static struct line *adopt(struct life *l, struct part *part)
{
	struct line *line = &l->lines[chance_below(&l->chance, l->lines_n)];

	if (!line->app || line->part >= 0 || !chance_is(&l->chance, 0.15))
		return NULL;
	line->part = (int)(part - l->parts);
	part->lines[part->lines_n++] = line;
	return line;
}

struct line *any_line(struct life *l, struct part *part)
{
	struct line *line = adopt(l, part);

	if (line)
		return line;
	return life_line(l, part, NULL, l->gc.ruby && !chance_is(&l->chance, 0.15));
}

/* --- the process ------------------------------------------------------------------------ */

static void draw_gc(struct life *l)
{
	struct gc *g = &l->gc;
	struct chance *c = &l->chance;

	g->ruby = !chance_is(c, 0.1);
	g->off_from = g->off_until = NEVER;
	g->malloc_max = chance_is(c, 0.15) ? 128 * MB : 32 * MB;
	g->old_max = chance_is(c, 0.15) ? 1024 * MB : 128 * MB;
	g->manual_every = chance_is(c, 0.1) ? chance_scale(c, 20, 1200) : 0;
	g->old_share = chance_scale(c, 0.003, 0.3);
	g->compacts_every = chance_is(c, 0.05) ? chance_scale(c, 60, 1800) : 0;
	l->proves = g->ruby && !chance_is(c, 0.1);
}

static void draw_memory(struct life *l)
{
	struct memory *m = &l->memory;
	struct chance *c = &l->chance;

	m->glibc = !chance_is(c, 0.2);
	m->decay = m->glibc ? 0 : chance_scale(c, 0.003, 0.3);
	m->boot = l->child ? 0 : chance_scale(c, 1, 40);
	m->objects = l->gc.ruby ? chance_scale(c, 1 * MB, 60 * MB) : 0;
	m->fragments = chance_between(c, 0.02, 0.2);
	m->gives = chance_is(c, 0.6) ? 0 : chance_between(c, 0, 0.9);
	m->anon = chance_scale(c, 0.5 * MB, 20 * MB);
	m->files = chance_scale(c, 4 * MB, 30 * MB);
	m->stacks = chance_scale(c, 60 * KB, MB);
	m->threads = (double)(1 + chance_below(c, 12));
	m->fds = (double)(6 + chance_below(c, 40));
	m->noise = chance_scale(c, 4 * KB, 80 * KB);
}

static void draw_load(struct life *l)
{
	struct chance *c = &l->chance;
	double x = chance_unit(c);

	l->load.form = x < 0.5 ? STEADY : x < 0.65 ? BURSTS : x < 0.8 ? DAY : x < 0.9 ? RAMP : IDLE;
	l->load.period = chance_scale(c, 30, l->load.form == RAMP ? 300 : 7200);
	l->load.depth = chance_between(c, 0.2, 0.9);
	l->load.phase = chance_unit(c);
}

/* The app's own lines: few of them have most of the memory. */
static void draw_lines(struct life *l)
{
	struct chance *c = &l->chance;
	double base = chance_scale(c, 2 * MB, 80 * MB), work = chance_scale(c, 10 * KB, 10 * MB);
	size_t n = 12 + chance_below(c, 36);
	double left = base;

	for (size_t i = 0; i < n; i++) {
		struct line *line = life_line(l, NULL, NULL, l->gc.ruby);

		line->app = true;
		line->base = left * chance_between(c, 0.02, 0.3);
		left -= line->base;
		line->churn = l->gc.ruby && chance_is(c, 0.4) ? work * chance_between(c, 0.01, 0.3) : 0;
		line->ages = chance_is(c, 0.2) ? chance_scale(c, 0.0005, 0.02) : 0;
	}
}

static double draw_lasts(struct chance *c)
{
	double x = chance_unit(c);

	return floor(x < 0.1  ? chance_between(c, 240, 300) :
		     x < 0.85 ? chance_between(c, 300, 2400) :
		     x < 0.97 ? chance_between(c, 2400, 7200) :
				chance_between(c, 7200, LIFE_MAX - STEP));
}

/* --- parts ------------------------------------------------------------------------------ */

static const struct part_kind *draw_kind(struct life *l)
{
	double all = 0, x;

	for (size_t i = 0; i < part_kinds_n; i++)
		all += part_kinds[i]->weight;
	x = chance_unit(&l->chance) * all;
	for (size_t i = 0; i < part_kinds_n; i++) {
		x -= part_kinds[i]->weight;
		if (x < 0)
			return part_kinds[i];
	}
	return part_kinds[part_kinds_n - 1];
}

static void draw_part(struct life *l, const struct part_kind *kind)
{
	struct part *p = &l->parts[l->parts_n++];

	*p = (struct part){
		.kind = kind,
		.from = chance_is(&l->chance, 0.4) ? 0 : chance_unit(&l->chance) * l->lasts * 0.35,
		.until = NEVER,
		.ready = NEVER,
		.grown_then = calloc(LIFE_MAX / STEP + 2, sizeof(float)),
		.count_then = calloc(LIFE_MAX / STEP + 2, sizeof(float))
	};
	p->right = kind->right;
	kind->draw(l, p);
}

/* `only`: the first one is of that kind. */
static void draw_parts(struct life *l, const char *only)
{
	static const double more[] = { 0.6, 0.5, 0.4, 0.4 };
	size_t n = only || !chance_is(&l->chance, 0.06);

	while (n && n < PARTS_MAX && chance_is(&l->chance, more[n - 1]))
		n++;
	while (l->parts_n < n) {
		const struct part_kind *kind = draw_kind(l);
		bool twice = false;

		for (size_t i = 0; i < l->parts_n; i++)
			twice |= l->parts[i].kind == kind;
		if (only && !l->parts_n && strcmp(kind->name, only))
			continue;
		l->gc.ruby |= only && !l->parts_n && kind->ruby;
		if (!twice && (l->gc.ruby || !kind->ruby))
			draw_part(l, kind);
	}
}

static float *floats(size_t n)
{
	return calloc(n + 2, sizeof(float));
}

void life_draw(struct life *l, uint64_t seed, uint64_t nth, const char *only)
{
	size_t steps = LIFE_MAX / STEP;

	know_kinds();
	memset(l, 0, sizeof(*l));
	l->seed = seed;
	l->nth = nth;
	l->chance.state = seed;
	l->chance.state = chance_bits(&l->chance) ^ nth;
	l->chance.state = chance_bits(&l->chance);
	l->lasts = draw_lasts(&l->chance);
	l->child = chance_is(&l->chance, 0.2);
	l->starts = l->child ? floor(chance_scale(&l->chance, 20, 20000)) : 0;
	draw_gc(l);
	draw_memory(l);
	draw_load(l);
	draw_lines(l);
	draw_parts(l, only);
	gc_begin(l);
	l->rss_then = floats(LIFE_MAX);
	l->kept_then = floats(LIFE_MAX);
	l->free_then = floats(steps);
	l->anon_then = floats(steps);
	l->heap_then = floats(steps);
	l->heap_kept_then = floats(steps);
	l->stacks_then = floats(steps);
}

void life_free(struct life *l)
{
	for (size_t i = 0; i < l->lines_n; i++) {
		free(l->lines[i].live_then);
		free(l->lines[i].kept_then);
		free(l->lines[i].dropped_then);
		free(l->lines[i].born_then);
	}
	for (size_t i = 0; i < l->parts_n; i++) {
		free(l->parts[i].grown_then);
		free(l->parts[i].count_then);
	}
	free(l->gc.gcs_then);
	free(l->rss_then);
	free(l->kept_then);
	free(l->free_then);
	free(l->anon_then);
	free(l->heap_then);
	free(l->heap_kept_then);
	free(l->stacks_then);
}
