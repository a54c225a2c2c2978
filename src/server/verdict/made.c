/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made.h"

#include <stdlib.h>
#include <string.h>

#include "shared/sys/root.h"

enum { SAMPLES_LEAST = 30 }; /* below it a share of them is a matter of chance */

#define SHARE_LEAST 0.25
#define OF_GROWTH_LEAST (1.0 / 3)
#define OF_TIME_LEAST 0.15

/* The objects of one line, of one line's class, or of one window, that stay. */
struct sum {
	const char *class;
	uint32_t line, window, samples;
	double bytes, born; /* born: the sum of bytes * second of uptime */
	double last; /* second of the last one */
	double of_line; /* of a window: the bytes of the line that is asked for */
};

typedef int compare_fn(const void *, const void *);

static int by_line(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_window(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->window < y->window ? -1 : x->window > y->window;
}

static int by_class(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return strcmp(x->class, y->class);
}

/* Sums up all that are equal by `same`; *n is then how many are left. */
static void sum_up_equal(struct sum *v, size_t *n, compare_fn *same)
{
	size_t all = *n;

	*n = 0;
	qsort(v, all, sizeof(*v), same);
	for (size_t i = 0; i < all; i++)
		if (*n && !same(&v[*n - 1], &v[i])) {
			v[*n - 1].samples += v[i].samples;
			v[*n - 1].bytes += v[i].bytes;
			v[*n - 1].born += v[i].born;
			v[*n - 1].of_line += v[i].of_line;
			if (v[i].last > v[*n - 1].last)
				v[*n - 1].last = v[i].last;
		} else {
			v[(*n)++] = v[i];
		}
}

/* All that were made since; of one line if `line` isn't NULL. NULL: no memory, or none. */
static struct sum *stays_since(const struct mw_evidence *e, double since, const uint32_t *line, size_t *n)
{
	struct sum *v = e->stays_n ? malloc(e->stays_n * sizeof(*v)) : NULL;

	*n = 0;
	for (size_t i = 0; v && i < e->stays_n; i++) {
		const struct mw_object_stay *s = &e->stays[i];

		if (s->born >= since && (!line || s->id == *line))
			v[(*n)++] = (struct sum){ s->class,           s->id,   s->window, 1, s->bytes,
						  s->bytes * s->born, s->born, 0 };
	}
	return v;
}

/* The two classes with the most bytes. */
static void name_classes(const struct mw_evidence *e, double since, struct mw_verdict_made *m)
{
	double most[2] = { 0, 0 };
	size_t n;
	struct sum *v = stays_since(e, since, &m->line, &n);

	if (v)
		sum_up_equal(v, &n, by_class);
	for (size_t i = 0; i < n; i++)
		if (*v[i].class && v[i].bytes > most[0]) {
			most[1] = most[0];
			m->classes[1] = m->classes[0];
			most[0] = v[i].bytes;
			m->classes[0] = v[i].class;
		} else if (*v[i].class && v[i].bytes > most[1]) {
			most[1] = v[i].bytes;
			m->classes[1] = v[i].class;
		}
	free(v);
}

/*
 * Two standard deviations of the share of a line, which has so many bytes of all: the samples of a window are alike, so
 * windows are what varies, and one more may be of other lines. Without end if there is one window alone.
 */
static double error_of(const struct mw_evidence *e, double since, uint32_t line, double share, double bytes)
{
	double squares = 0, off;
	size_t n;
	struct sum *v = stays_since(e, since, NULL, &n);

	for (size_t i = 0; i < n; i++)
		v[i].of_line = v[i].line == line ? v[i].bytes : 0;
	if (v)
		sum_up_equal(v, &n, by_window);
	for (size_t i = 0; i < n; i++) {
		off = (v[i].of_line - share * v[i].bytes) / bytes;
		squares += off * off;
	}
	free(v);
	if (n < 2)
		return __builtin_inf();
	squares *= (double)n / (double)(n - 1);
	return 2 * mw_root(squares + share * share / (double)n / (double)n);
}

/*
 * The objects that stay were made in the first part of the time, as they are older than two major collections.
 * Returns that part's share of the time, if they were made steadily.
 */
static double of_time(const struct sum *s, double since, double to)
{
	double part = to > since ? 2 * (s->born / s->bytes - since) / (to - since) : 1;

	return part < 1 ? part : 1;
}

/* All lines' sums, and what to compare the largest with. */
struct lines {
	const struct sum *top;
	double second, bytes, newest; /* second: bytes of the next one; newest: second of the last sample */
};

static void compare_lines(struct lines *l, const struct sum *v, size_t n)
{
	*l = (struct lines){ 0 };
	for (size_t i = 0; i < n; i++) {
		l->bytes += v[i].bytes;
		l->newest = v[i].last > l->newest ? v[i].last : l->newest;
		if (!l->top || v[i].bytes > l->top->bytes) {
			l->second = l->top ? l->top->bytes : 0;
			l->top = &v[i];
		} else if (v[i].bytes > l->second) {
			l->second = v[i].bytes;
		}
	}
}

/* Does the line make them up to the end of what is known? A cache that was full before isn't what grows. */
static bool line_goes_on(const struct lines *l, double since, double to)
{
	double newest = l->newest < to ? l->newest : to;

	return l->top->last - since >= (newest - since) / 2;
}

/* Is the largest line more than the next one by a standard deviation, and enough of all? */
static bool stands_out(const struct lines *l, double error)
{
	return l->top->samples >= SAMPLES_LEAST && l->top->bytes >= l->bytes * SHARE_LEAST &&
	       (l->top->bytes - l->second) / l->bytes >= error / 2;
}

/* Does what stays explain what the heap has grown by? */
static bool explains(const struct lines *l, double since, double to, double grown)
{
	double part = of_time(l->top, since, to);

	return part >= OF_TIME_LEAST && !(l->bytes < grown * part * OF_GROWTH_LEAST);
}

void mw_made_find(const struct mw_evidence *e, double since, double to, double grown,
		  struct mw_verdict_made *m)
{
	struct lines l;
	double share, error;
	size_t n;
	struct sum *v = stays_since(e, since, NULL, &n);

	*m = (struct mw_verdict_made){ 0 };
	if (v)
		sum_up_equal(v, &n, by_line);
	compare_lines(&l, v, n);
	share = l.top ? l.top->bytes / l.bytes : 0;
	error = l.top ? error_of(e, since, l.top->line, share, l.bytes) : 0;
	if (l.top && stands_out(&l, error) && line_goes_on(&l, since, to) &&
	    explains(&l, since, to, grown)) {
		m->line = l.top->line;
		m->samples = l.top->samples;
		m->at.share = share;
		m->at.change = l.top->bytes;
		m->error = error;
		name_classes(e, since, m);
	}
	free(v);
}

double mw_made_bytes(const struct mw_evidence *e, double since)
{
	double bytes = 0;
	size_t n = 0;

	for (size_t i = 0; i < e->stays_n; i++)
		if (e->stays[i].born >= since) {
			bytes += e->stays[i].bytes;
			n++;
		}
	return n >= SAMPLES_LEAST ? bytes : 0;
}
