/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * known.c - from when on a growth can be known.
 *
 * It can be seen when it has lasted 3 minutes, of which none are the start, and has come to 1 MB and 2 % of RSS; and
 * when the process is 5 minutes old: until then templates, compiled code and arenas rise by the same course. Besides:
 *   in steps      there were four of them
 *   at a line     it is at least a third of the garbage that the same line had at any time
 *   beneath what comes and goes   it is half of that
 *   Ruby's heap   has got pages for as much, and for half of what came in the last 5 minutes; until then
 *                 the objects fill slots that were free, which no figure shows
 *   fragments     it is at least half of what RSS has come and gone by since
 *   threads, descriptors   there are 20 more, and a fifth more; their memory may be little
 *   GC.disable    4 MB of garbage
 * A growth at a line of a Ruby process may be garbage. So a proof must have come, or there was time for one
 * (play.c); without proofs, six major collections.
 */
#include "life.h"

enum { SEEN_SECONDS = 180, START_SECONDS = 300, STEPS_LEAST = 4, COUNT_LEAST = 20 };

double then_at(const float *v, double t)
{
	return v[(size_t)fmax(t, 0) / STEP];
}

static double garbage_of(const struct part *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->lines_n; i++)
		sum += p->lines[i]->young + p->lines[i]->old + p->lines[i]->dying;
	return sum;
}

static bool is_counted(const struct part *p)
{
	return p->right & (IS(THREADS) | IS(DESCRIPTORS));
}

static bool has_grown(const struct life *l, const struct part *p)
{
	double least = fmax(MB, l->rss / 50);

	if (is_counted(p)) {
		double all = p->right & IS(THREADS) ? l->memory.threads : l->memory.fds;

		return p->count >= COUNT_LEAST && p->count >= all / 5;
	}
	if (p->right & IS(DISABLED))
		return p->grown >= fmax(least, 4 * MB);
	if (p->right == IS(HEAP) && l->gc.pages - p->heap_from < least)
		return false;
	if (p->right & IS(FRAGMENTATION))
		least = fmax(least, p->rss_fell / 2);
	return p->grown >= fmax(fmax(least, p->swing / 2), p->garbage_max / 3);
}

void known_second(struct life *l, double t)
{
	if ((size_t)t % STEP)
		return;
	for (size_t i = 0; i < l->parts_n; i++) {
		struct part *p = &l->parts[i];

		if (p->kind->truth != LEAKS || t < p->from)
			continue;
		if (p->heap_from <= 0) {
			p->heap_from = fmax(l->gc.pages, 1);
			p->majors_from = l->gc.majors;
		}
		p->rss_max = fmax(p->rss_max, l->rss);
		p->rss_fell = fmax(p->rss_fell, p->rss_max - l->rss);
		p->garbage_max = fmax(p->garbage_max, garbage_of(p));
		if (p->ready >= NEVER &&
		    t >= fmax(fmax(p->from, l->memory.boot) + SEEN_SECONDS, START_SECONDS) &&
		    t < p->until && (!p->steps || p->stepped >= STEPS_LEAST) && has_grown(l, p))
			p->ready = t;
	}
}
