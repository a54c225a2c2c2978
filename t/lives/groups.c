/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups.c - wrong sentences by what they have in common, for table.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum { GROUPS_MAX = 1000 };

static struct group {
	enum outcome outcome;
	enum mw_verdict_kind kind;
	const char *process; /* can it be proven? */
	const char *part; /* by which it went wrong */
	const char *why;
	size_t n;
	/* one of them, by chance */
	uint64_t seed, nth;
	double t;
	char sentence[SENTENCE];
} groups[GROUPS_MAX];
static size_t groups_n;
static struct chance chance = { 1 };

static struct group *find(const struct group *like)
{
	for (size_t i = 0; i < groups_n; i++) {
		struct group *g = &groups[i];

		if (g->outcome == like->outcome && g->kind == like->kind &&
		    g->process == like->process && g->part == like->part && g->why == like->why)
			return g;
	}
	if (groups_n == GROUPS_MAX)
		return NULL;
	groups[groups_n] = *like;
	return &groups[groups_n++];
}

static void add(const struct play *p, const struct moment *m)
{
	struct group like = { .outcome = m->outcome, .kind = m->kind, .why = m->why }, *g;

	like.process = !p->life.gc.ruby ? "no Ruby" : p->life.proves ? "proofs" : "no proofs";
	like.part = m->blamed >= 0 ? p->life.parts[m->blamed].kind->name : "the app";
	g = find(&like);
	if (!g || !chance_is(&chance, 1 / (double)++g->n))
		return;
	g->seed = p->life.seed;
	g->nth = p->life.nth;
	g->t = m->t;
	memcpy(g->sentence, m->sentence, sizeof(g->sentence));
}

/* Changes of kind without a cause: from, to. */
static struct flaps {
	size_t n;
	uint64_t seed, nth;
	double t;
} flaps[MW_VERDICT_KINDS_N][MW_VERDICT_KINDS_N];

static void add_flap(const struct play *p, const struct moment *m)
{
	struct flaps *f = &flaps[m[-1].kind][m->kind];

	if (!chance_is(&chance, 1 / (double)++f->n))
		return;
	f->seed = p->life.seed;
	f->nth = p->life.nth;
	f->t = m->t;
}

void groups_add(const struct play *p)
{
	for (size_t i = 0; i < p->moments_n; i++) {
		if (p->moments[i].outcome > RIGHT)
			add(p, &p->moments[i]);
		if (p->moments[i].flap)
			add_flap(p, &p->moments[i]);
	}
}

static void print_flaps(size_t least)
{
	printf("\nflaps\n");
	for (int from = 0; from < MW_VERDICT_KINDS_N; from++)
		for (int to = 0; to < MW_VERDICT_KINDS_N; to++) {
			const struct flaps *f = &flaps[from][to];

			if (f->n < least || !f->n)
				continue;
			printf("%5zu %s to %s: SEED=%llu LIFE=%llu at %.0f s\n", f->n,
			       mw_verdict_name((enum mw_verdict_kind)from),
			       mw_verdict_name((enum mw_verdict_kind)to), (unsigned long long)f->seed,
			       (unsigned long long)f->nth, f->t);
		}
}

static int most_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

void groups_print(size_t most)
{
	qsort(groups, groups_n, sizeof(*groups), most_first);
	printf("\nthe commonest faults\n");
	for (size_t i = 0; i < groups_n && i < most; i++) {
		const struct group *g = &groups[i];

		printf("%5zu %s, %s, %s, %s (%s)\n      SEED=%llu LIFE=%llu at %.0f s: %s\n", g->n,
		       outcome_names[g->outcome], mw_verdict_name(g->kind), g->process, g->part, g->why,
		       (unsigned long long)g->seed, (unsigned long long)g->nth, g->t, g->sentence);
	}
	print_flaps(groups_n ? groups[0].n / 50 : 0);
}
