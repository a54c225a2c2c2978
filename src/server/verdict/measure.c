/* SPDX-License-Identifier: GPL-2.0-or-later */
/* measure.c - the changes in a window of time. See judge.h. */
#include <string.h>

#include "judge.h"

enum { NAMES = 256 }; /* curves are no more */

/* Changes by name: of a file, or of a gem. */
struct sums {
	size_t n;
	struct mw_verdict_spread v[NAMES]; /* `share` is bytes here */
};

static void add_change(struct sums *s, const char *name, uint32_t len, double change)
{
	size_t i = 0;

	while (i < s->n && (s->v[i].len != len || memcmp(s->v[i].name, name, len)))
		i++;
	if (i == NAMES)
		return;
	if (i == s->n)
		s->v[s->n++] = (struct mw_verdict_spread){ .name = name, .len = len };
	s->v[i].lines++;
	s->v[i].share += change;
}

/* The part of a path behind its last "/gems/", up to the next slash; 0: there is none. */
static uint32_t gem_of(const char *path, uint32_t len, const char **name)
{
	static const char gems[] = "/gems/";
	const char *end = path + len, *from = NULL, *slash;

	for (const char *at = path; (at = memmem(at, (size_t)(end - at), gems, sizeof(gems) - 1));
	     at += sizeof(gems) - 1)
		from = at + sizeof(gems) - 1;
	if (!from || !(slash = memchr(from, '/', (size_t)(end - from))))
		return 0;
	*name = from;
	return (uint32_t)(slash - from);
}

static void put_most(struct mw_verdict_spread *to, const struct sums *s, double all)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].share > to->share)
			*to = s->v[i];
	all = mw_larger(all, to->share);
	to->share = all > 0 ? to->share / all : 0;
}

/* The file and the gem with most of the growth. */
static void measure_spread(struct mw_verdict *v, const struct mw_look *l, double from, double to,
			   mw_change_fn *of, double all)
{
	const struct mw_curve_set *set = l->scale->curves;
	struct sums files, gems;

	files.n = gems.n = 0;
	for (size_t i = 0; set && i < set->n; i++) {
		const struct mw_curve *c = &set->v[i];
		double d = of(l->t, l->v, mw_look_curve(l, c), from, to);
		const char *gem;
		uint32_t len;

		if (!(d > 0) || c->kind != MW_KIND_RUBY || !c->file_len)
			continue;
		add_change(&files, c->location, c->file_len, d);
		len = gem_of(c->location, c->file_len, &gem);
		if (len)
			add_change(&gems, gem, len, d);
	}
	put_most(&v->file, &files, all);
	put_most(&v->gem, &gems, all);
}

void mw_judge_measure(struct mw_verdict *v, const struct mw_look *l, double from, double to,
		      mw_change_fn *of)
{
	const struct mw_curve *best[MW_VERDICT_LOCATIONS];
	double change[MW_VERDICT_LOCATIONS], less, all;

	for (int part = 0; part < MW_PARTS_N; part++) {
		size_t n = mw_look_series(l, (enum mw_rss_part)part);

		v->now[part] = mw_look_last(l, n);
		v->moved[part] = of(l->t, l->v, n, from, to);
	}
	v->n = mw_look_changed(l, from, to, of, best, change, MW_VERDICT_LOCATIONS, &less);
	/* shares are of what is known at the same moments as the locations: the last may be seconds ago */
	all = of(l->t, l->v, mw_look_total(l), from, to);
	for (size_t i = 0; i < v->n; i++) {
		double sum = mw_larger(all, change[i]);

		v->locations[i] = (struct mw_verdict_location){
			.location = best[i]->location,
			.len = best[i]->location_len,
			.file_len = best[i]->file_len,
			.kind = best[i]->kind,
			.change = change[i],
			.share = sum > 0 ? change[i] / sum : 0,
		};
	}
	measure_spread(v, l, from, to, of, all);
}

void mw_judge_put_first(struct mw_verdict *v, const struct mw_look *l)
{
	const struct mw_curve *c = l->top;
	struct mw_verdict_location first = { .change = l->line.gain };
	size_t at = 0;

	if (!c)
		return;
	while (at < v->n && v->locations[at].location != c->location)
		at++;
	if (at < v->n)
		first = v->locations[at];
	else if (v->n < MW_VERDICT_LOCATIONS)
		v->n++;
	else
		at--;
	memmove(&v->locations[1], &v->locations[0], at * sizeof(first));
	first.location = c->location;
	first.len = c->location_len;
	first.file_len = c->file_len;
	first.kind = c->kind;
	v->locations[0] = first;
}
