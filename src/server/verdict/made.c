/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made.h"

#include <stdlib.h>
#include <string.h>

#include "shared/sys/root.h"
#include "shared/text/buf.h"
#include "words.h"

enum { SAMPLES_LEAST = 30 }; /* below it a share of them is a matter of chance */

#define SHARE_LEAST 0.25
#define OF_GROWTH_LEAST (1.0 / 3)
#define OF_TIME_LEAST 0.15

/* The objects of one line, or of one line's class, that stay. */
struct sum {
	const char *class;
	uint32_t line, samples;
	double bytes, born; /* born: the sum of bytes * second of uptime */
};

typedef int compare_fn(const void *, const void *);

static int by_line(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_class(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return strcmp(x->class, y->class);
}

/* Sums up all that are equal by `same`; *n is then how many are left. */
static void sum_up(struct sum *v, size_t *n, compare_fn *same)
{
	size_t all = *n;

	*n = 0;
	qsort(v, all, sizeof(*v), same);
	for (size_t i = 0; i < all; i++)
		if (*n && !same(&v[*n - 1], &v[i])) {
			v[*n - 1].samples += v[i].samples;
			v[*n - 1].bytes += v[i].bytes;
			v[*n - 1].born += v[i].born;
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
			v[(*n)++] = (struct sum){ s->class, s->id, 1, s->bytes, s->bytes * s->born };
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
		sum_up(v, &n, by_class);
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
 * The objects that stay were made in the first part of the time, as they are older than two major collections.
 * Returns that part's share of the time, if they were made steadily.
 */
static double of_time(const struct sum *s, double since, double to)
{
	double part = to > since ? 2 * (s->born / s->bytes - since) / (to - since) : 1;

	return part < 1 ? part : 1;
}

void mw_made_find(const struct mw_evidence *e, double since, double to, double grown,
		  struct mw_verdict_made *m)
{
	const struct sum *top = NULL;
	struct sum *v;
	double bytes = 0;
	uint32_t samples = 0;
	size_t n;

	*m = (struct mw_verdict_made){ 0 };
	v = stays_since(e, since, NULL, &n);
	if (v)
		sum_up(v, &n, by_line);
	for (size_t i = 0; i < n; i++) {
		bytes += v[i].bytes;
		samples += v[i].samples;
		if (!top || v[i].bytes > top->bytes)
			top = &v[i];
	}
	if (top && top->samples >= SAMPLES_LEAST && top->bytes >= bytes * SHARE_LEAST &&
	    of_time(top, since, to) >= OF_TIME_LEAST &&
	    !(bytes < grown * of_time(top, since, to) * OF_GROWTH_LEAST)) {
		m->line = top->line;
		m->samples = top->samples;
		m->at.share = top->bytes / bytes;
		m->at.change = top->bytes;
		m->error = 2 * mw_root(m->at.share * (1 - m->at.share) / samples);
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

void mw_words_made(struct mw_buf *b, const struct mw_verdict *v)
{
	const struct mw_verdict_made *m = &v->made;
	unsigned error = (unsigned)(m->error * 100 + 0.5);

	if (!m->samples || !m->at.location)
		return;
	mw_buf_str(b, "; ");
	mw_words_share(b, m->at.share);
	if (error)
		mw_buf_fmt(b, " (\xc2\xb1 %u)", error);
	mw_buf_str(b, " of the objects that stay were made at ");
	mw_verdict_short(b, &m->at);
	for (size_t i = 0; i < 2 && m->classes[i]; i++) {
		mw_buf_str(b, i ? ", " : " (");
		mw_buf_str(b, m->classes[i]);
	}
	mw_buf_str(b, m->classes[0] ? ")" : "");
	if (m->owner) {
		mw_buf_str(b, ", kept by ");
		mw_buf_tsv(b, m->owner, strlen(m->owner));
	}
}
