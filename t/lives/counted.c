/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counted.c - parts that grow outside of lines: threads, descriptors, mappings, Ruby's heap. See life.h. */
#include "life.h"

/* size: bytes of stack that one touches; factor: bytes of live memory */
static void draw_threads(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, true));
	p->rate = chance_scale(&l->chance, 0.05, 2);
	p->size = chance_scale(&l->chance, 8 * KB, 100 * KB);
	p->factor = chance_scale(&l->chance, 1 * KB, 8 * KB);
}

/*
 * Each second time as from Ruby 3.3 on: a VM's stack is 1 MB of malloc, of which one touches `factor`. Live memory
 * then grows at the line that starts threads: to say so is right, too.
 */
static void draw_ruby_threads(struct life *l, struct part *p)
{
	draw_threads(l, p);
	if (chance_below(&l->chance, 2))
		return;
	p->factor = chance_scale(&l->chance, 8 * KB, 100 * KB);
	p->lines[0]->block = MB;
	p->lines[0]->mapped = true;
	p->lines[0]->slots = 0;
	p->right |= IS(GROWS);
}

static void draw_native_threads(struct life *l, struct part *p)
{
	life_line(l, p, NULL, false);
	p->rate = chance_scale(&l->chance, 0.05, 2);
	p->size = chance_scale(&l->chance, 8 * KB, 60 * KB);
	p->factor = 300;
}

/* How many more there are in this second. */
static double more(struct life *l, struct part *p, double t, double most)
{
	double n;

	if (!is_active(p, t) || p->count >= most)
		return 0;
	p->state += p->rate * chance_between(&l->chance, 0.5, 1.5);
	n = floor(p->state);
	p->state -= n;
	p->count += n;
	return n;
}

static void start_threads(struct life *l, struct part *p, double t)
{
	double n = more(l, p, t, 4000);

	l->memory.threads += n;
	l->memory.stacks += n * p->size;
	if (p->lines[0]->mapped)
		p->lines[0]->untouched += n * (MB - p->factor);
	line_keep(l, p->lines[0], n * (p->lines[0]->mapped ? MB : p->factor));
	p->grown += n * (p->size + p->factor + 12 * KB);
}

static void draw_fibers(struct life *l, struct part *p)
{
	draw_threads(l, p);
	p->size = chance_scale(&l->chance, 4 * KB, 40 * KB);
	p->factor = chance_scale(&l->chance, 300, 2 * KB);
	p->rate = chance_scale(&l->chance, 0.3, 10);
}

static void start_fibers(struct life *l, struct part *p, double t)
{
	double n = more(l, p, t, 30000);

	l->memory.stacks += n * p->size;
	line_keep(l, p->lines[0], n * p->factor);
	p->grown += n * (p->size + p->factor);
}

static void draw_descriptors(struct life *l, struct part *p)
{
	name_owner(l, life_line(l, p, NULL, true));
	p->rate = chance_scale(&l->chance, 0.1, 10);
	p->factor = chance_is(&l->chance, 0.7) ? chance_scale(&l->chance, 200, 2 * KB) : 17 * KB;
	if (p->factor > 4 * KB)
		p->right |= IS(GROWS);
}

static void open_descriptors(struct life *l, struct part *p, double t)
{
	double n = more(l, p, t, 60000);

	l->memory.fds += n;
	line_keep(l, p->lines[0], n * p->factor);
	p->grown += n * p->factor;
}

static void draw_rate_only(struct life *l, struct part *p)
{
	p->rate = draw_rate(l, p);
	p->size = chance_is(&l->chance, 0.5) ? 0 : chance_scale(&l->chance, 64 * KB, 2 * MB);
}

/* By pieces of `size`, if there is one. */
static double piece(struct life *l, struct part *p, double t)
{
	double n;

	p->state += steady(l, p, t);
	n = p->size > 0 ? floor(p->state / p->size) * p->size : p->state;
	p->state -= n;
	p->grown += n;
	return n;
}

static void map_more(struct life *l, struct part *p, double t)
{
	l->memory.anon += piece(l, p, t);
}

static void map_files(struct life *l, struct part *p, double t)
{
	l->memory.files += piece(l, p, t);
}

static void draw_heap(struct life *l, struct part *p)
{
	p->rate = draw_rate(l, p);
}

/* Objects without memory of malloc: no line is known. */
static void keep_objects(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	l->gc.kept += bytes;
	p->grown += bytes;
}

static void draw_fragments(struct life *l, struct part *p)
{
	p->rate = draw_rate(l, p);
	if (!l->memory.glibc)
		p->right |= IS(NATIVE);
}

/* Freed memory can't be used again: the app asks for other sizes. */
static void fragment(struct life *l, struct part *p, double t)
{
	double bytes = steady(l, p, t);

	l->memory.wasted += bytes;
	l->memory.arenas += bytes;
	p->grown += bytes;
}

const struct part_kind leaks_counted[] = {
	{ "thread", 3, IS(THREADS), LEAKS, true, draw_ruby_threads, start_threads, false },
	{ "native_thread", 1.5, IS(THREADS), LEAKS, false, draw_native_threads, start_threads, false },
	{ "fiber", 2, IS(STACKS), LEAKS, true, draw_fibers, start_fibers, false },
	{ "descriptor", 2, IS(DESCRIPTORS), LEAKS, true, draw_descriptors, open_descriptors, false },
	{ "mmap", 2, IS(NATIVE), LEAKS, false, draw_rate_only, map_more, false },
	{ "files", 1, IS(FILES), LEAKS, false, draw_rate_only, map_files, false },
	{ "heap", 3, IS(HEAP), LEAKS, true, draw_heap, keep_objects, false },
	{ "fragments", 2, IS(FRAGMENTATION), LEAKS, false, draw_fragments, fragment, false },
	{ 0 },
};
