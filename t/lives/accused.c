/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accused.c - what does a sentence accuse, and has that grown? See judge.h.
 *
 * An accusation is true if what it accuses has grown in the time that it tells of, by a fifth of what it says at
 * least, by what is kept; and if it still grew in the last quarter of that time, or in the last 90 s.
 */
#include <stdio.h>
#include <string.h>

#include "judge.h"

double rise(const float *v, double from, double to)
{
	return then_at(v, to) - then_at(v, from);
}

/* Did it grow by at least `least`, and go on? */
bool rises(const float *v, const struct window *w, double least)
{
	double all = rise(v, w->from, w->to), late = rise(v, fmax(w->late, 0), w->to);
	double expected = all * (w->to - fmax(w->late, 0)) / fmax(w->to - w->from, 1);

	return all > 0 && all >= least && (w->late <= w->from || late >= expected / 10);
}

bool part_rises(const struct part *p, const struct window *w, double least)
{
	double all = rise(p->grown_then, w->from, w->to);

	/* it goes on until its next step is overdue */
	if (p->steps)
		return all >= least && w->to < p->until && w->to >= p->from &&
		       w->to - p->next < 3 * p->period;
	return rises(p->grown_then, w, least);
}

/* --- accusations ------------------------------------------------------------------------- */

const struct line *line_of(const struct life *l, const struct mw_verdict_location *at)
{
	for (size_t i = 0; i < l->lines_n; i++)
		if (strlen(l->lines[i].name) == at->len && !memcmp(l->lines[i].name, at->location, at->len))
			return &l->lines[i];
	return NULL;
}

bool names_line(const struct mw_verdict *v)
{
	return v->n && v->locations[0].share >= 0.01;
}

bool line_rises(const struct life *l, const struct line *line, const struct window *w, double said)
{
	const struct part *p = line->part >= 0 ? &l->parts[line->part] : NULL;

	if (p && p->steps)
		return rise(line->kept_then, w->from, w->to) >= said / 5 && part_rises(p, w, 0);
	return rises(line->kept_then, w, said / 5);
}

static double sum_rise(const struct life *l, const struct window *w)
{
	double sum = 0;

	for (size_t i = 0; i < l->lines_n; i++)
		sum += rise(l->lines[i].kept_then, w->from, w->to);
	return sum;
}

/* --- lines of one file, or of one gem ------------------------------------------------------ */

/* "in audit.rb, on 12 lines" */
static bool is_told(const struct mw_verdict_spread *s, const char *sentence)
{
	char name[200];
	const char *from = s->name;

	if (s->lines < 2)
		return false;
	for (const char *at = s->name; at < s->name + s->len; at++)
		if (*at == '/')
			from = at + 1;
	snprintf(name, sizeof(name), "%.*s, on %u lines", (int)(s->name + s->len - from), from, s->lines);
	return strstr(sentence, name);
}

static bool is_in(const struct line *line, const struct mw_verdict_spread *s)
{
	char name[200];

	snprintf(name, sizeof(name), "%.*s", (int)s->len, s->name);
	return strstr(line->name, name);
}

static int accused_spread(const struct life *l, const struct mw_verdict_spread *s, double said,
			  const struct window *w)
{
	int most = OF_NONE;
	double all = 0, best = 0;

	for (size_t i = 0; i < l->lines_n; i++) {
		double d = is_in(&l->lines[i], s) ? rise(l->lines[i].kept_then, w->from, w->to) : 0;

		all += d;
		if (d > best && line_rises(l, &l->lines[i], w, 0)) {
			best = d;
			most = l->lines[i].part;
		}
	}
	return all >= said / 5 ? most : OF_NONE;
}

/* --- by kind -------------------------------------------------------------------------------- */

static int accused_line(const struct life *l, const struct mw_verdict *v, const struct window *w,
			const char *sentence)
{
	const struct mw_verdict_spread *s =
		is_told(&v->file, sentence) ? &v->file :
		is_told(&v->gem, sentence)  ? &v->gem :
					      NULL;
	const struct line *line;
	int most = OF_NONE;

	if (s)
		return accused_spread(l, s, v->change * s->share, w);

	if (names_line(v)) {
		line = line_of(l, &v->locations[0]);
		return line && line_rises(l, line, w, v->locations[0].change) ? line->part : OF_NONE;
	}
	for (size_t i = 0; i < l->parts_n; i++)
		if (l->parts[i].lines_n && part_rises(&l->parts[i], w, v->change / 5))
			most = (int)i;
	return most == OF_NONE && sum_rise(l, w) >= v->change / 5 && w->to < 120 ? OF_APP : most;
}

static int accused_explosion(const struct life *l, const struct mw_verdict *v, double t)
{
	struct window w = { t - 75, t, t - 75 };
	double rss = l->rss_then[(size_t)t] - l->rss_then[(size_t)fmax(t - 75, 0)];
	double kept = l->kept_then[(size_t)t] - l->kept_then[(size_t)fmax(t - 75, 0)];

	if (!(v->part == MW_PART_LIVE ? kept >= v->change * 0.4 : rss >= v->change * 0.8))
		return OF_NONE;
	for (size_t i = 0; i < l->parts_n; i++)
		if (part_rises(&l->parts[i], &w, v->change / 4))
			return (int)i;
	return OF_APP;
}

static int accused_count(const struct life *l, const struct mw_verdict *v, const struct window *w,
			 unsigned is)
{
	for (size_t i = 0; i < l->parts_n; i++)
		if ((l->parts[i].right & is) && rises(l->parts[i].count_then, w, v->count_gain / 2))
			return (int)i;
	return OF_NONE;
}

/* By parts whose kind it is, or by anything that makes that part of RSS grow for good. */
static int accused_part(const struct life *l, const struct mw_verdict *v, const struct window *w,
			unsigned is, const float *then)
{
	double said = v->moved[v->part] == v->moved[v->part] ? fmax(v->moved[v->part], 0) : 0;

	for (size_t i = 0; i < l->parts_n; i++)
		if ((l->parts[i].right & is) && part_rises(&l->parts[i], w, said / 5))
			return (int)i;
	for (size_t i = 0; then && i < l->parts_n; i++)
		if (rises(then, w, said / 5) && part_rises(&l->parts[i], w, said / 5))
			return (int)i;
	return then && rises(then, w, said / 5) ? OF_APP : OF_NONE;
}

static int accused_disabled(const struct life *l, double t)
{
	for (size_t i = 0; i < l->parts_n; i++)
		if ((l->parts[i].right & IS(DISABLED)) && (gc_is_off(l, t) || gc_is_off(l, t - 30)))
			return (int)i;
	return OF_NONE;
}

int accused(const struct life *l, const struct mw_verdict *v, const struct window *w, const char *sentence)
{
	switch (v->kind) {
	case MW_VERDICT_GROWS:
		return accused_line(l, v, w, sentence);
	case MW_VERDICT_EXPLODES:
		return accused_explosion(l, v, w->to);
	case MW_VERDICT_THREADS:
	case MW_VERDICT_DESCRIPTORS:
		return accused_count(l, v, w, 1u << v->kind);
	case MW_VERDICT_HEAP:
		return accused_part(l, v, w, IS(HEAP), l->heap_kept_then);
	case MW_VERDICT_STACKS:
		return accused_part(l, v, w, IS(STACKS), l->stacks_then);
	case MW_VERDICT_NATIVE:
		return accused_part(l, v, w, IS(NATIVE), l->anon_then);
	case MW_VERDICT_FRAGMENTATION:
	case MW_VERDICT_FILES:
		return accused_part(l, v, w, 1u << v->kind, NULL);
	case MW_VERDICT_DISABLED:
		return accused_disabled(l, w->to);
	default: /* the tracker: by what makes it grow */
		for (size_t i = 0; i < l->parts_n; i++)
			if (part_rises(&l->parts[i], w, v->change / 5))
				return (int)i;
		return OF_NONE;
	}
}
