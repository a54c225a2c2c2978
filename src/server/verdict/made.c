/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "made.h"

#include <stdlib.h>
#include <string.h>

#include "shared/sys/root.h"
#include "shared/text/buf.h"
#include "words.h"

enum { SAMPLES_LEAST = 30 }; /* below it a share of them is a matter of chance */

#define SHARE_LEAST 0.25

struct line {
	uint32_t line, samples;
	double bytes;
};

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

/* All that were made since, a line each, and their number. NULL: no memory, or none. */
static struct line *lines_of(const struct mw_evidence *e, double since, size_t *n)
{
	struct line *v = e->stays_n ? calloc(e->stays_n, sizeof(*v)) : NULL;
	size_t all = 0;

	*n = 0;
	for (size_t i = 0; v && i < e->stays_n; i++)
		if (e->stays[i].born >= since)
			v[all++] = (struct line){ e->stays[i].line, 1, e->stays[i].bytes };
	if (v)
		qsort(v, all, sizeof(*v), by_line);
	for (size_t i = 0; i < all; i++)
		if (*n && v[*n - 1].line == v[i].line) {
			v[*n - 1].samples++;
			v[*n - 1].bytes += v[i].bytes;
		} else {
			v[(*n)++] = v[i];
		}
	return v;
}

/* The two classes with the most bytes. */
static void name_classes(const struct mw_evidence *e, double since, struct mw_verdict_made *m)
{
	double most[2] = { 0, 0 };

	for (size_t i = 0; i < e->stays_n; i++) {
		const char *name = e->stays[i].class;
		double bytes = 0;

		if (!*name || e->stays[i].line != m->line ||
		    (m->classes[0] && !strcmp(name, m->classes[0])) ||
		    (m->classes[1] && !strcmp(name, m->classes[1])))
			continue;
		for (size_t k = i; k < e->stays_n; k++)
			if (e->stays[k].line == m->line && e->stays[k].born >= since &&
			    !strcmp(e->stays[k].class, name))
				bytes += e->stays[k].bytes;
		if (bytes > most[0]) {
			most[1] = most[0];
			m->classes[1] = m->classes[0];
			most[0] = bytes;
			m->classes[0] = name;
		} else if (bytes > most[1]) {
			most[1] = bytes;
			m->classes[1] = name;
		}
	}
}

void mw_made_find(const struct mw_evidence *e, double since, struct mw_verdict_made *m)
{
	const struct line *top = NULL;
	struct line *v;
	double bytes = 0;
	uint32_t samples = 0;
	size_t n;

	*m = (struct mw_verdict_made){ 0 };
	v = lines_of(e, since, &n);
	for (size_t i = 0; v && i < n; i++) {
		bytes += v[i].bytes;
		samples += v[i].samples;
		if (!top || v[i].bytes > top->bytes)
			top = &v[i];
	}
	if (top && top->samples >= SAMPLES_LEAST && top->bytes >= bytes * SHARE_LEAST) {
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
}
