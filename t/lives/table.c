/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c - see table.h. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES_MAX = 200000, WORST_MAX = 4000 };

struct totals {
	double lives, hours, sentences, of[OUTCOMES_N], flaps;
	double known; /* lives in which a growth could be known at some sentence */
	double known_sentences, right_sentences;
	double last_right; /* lives */
	double kind_right, line_right; /* of these */
	struct changes changes;
	double growers, growers_false, beside, beside_false,
		above_rows; /* above_rows: "Nothing grows" above a row that does */
};

static struct totals all, by_said[MW_VERDICT_KINDS_N], by_part[KINDS_MAX + 1], alone[KINDS_MAX + 1],
	pairs[KINDS_MAX][KINDS_MAX];

/* Seconds from a growth's begin, and from when it could be known, to the first right sentence. */
static double times[TIMES_MAX], late[TIMES_MAX];
static size_t times_n;

static struct worst {
	double points;
	uint64_t seed, nth;
	enum outcome outcome;
	double t;
	char parts[120], sentence[SENTENCE];
} worst[WORST_MAX];
static size_t worst_n;

static size_t kind_of(const struct play *p, int part)
{
	for (size_t i = 0; part >= 0 && i < part_kinds_n; i++)
		if (part_kinds[i] == p->life.parts[part].kind)
			return i;
	return part_kinds_n;
}

/* --- one life --------------------------------------------------------------------------- */

/* Nine in ten of the sentences at which a growth could be known. */
static void judge_life(const struct play *p, struct totals *t)
{
	double known = 0, kind = 0, line = 0, last = 0;

	for (size_t i = 0; i < p->moments_n; i++) {
		const struct moment *m = &p->moments[i];

		if (!m->known || m->outcome == NEUTRAL)
			continue;
		known++;
		kind += m->outcome == RIGHT || m->outcome == WRONG_LINE;
		line += last = m->outcome == RIGHT;
	}
	if (known <= 0)
		return;
	t->known_sentences += known;
	t->right_sentences += line;
	t->last_right += last;
	t->known++;
	t->kind_right += kind >= known * 0.9;
	t->line_right += line >= known * 0.9;
}

static void add_times(const struct play *p)
{
	double known = NEVER;
	bool right = false;

	for (size_t i = 0; i < p->moments_n; i++)
		if (p->moments[i].known)
			known = fmin(known, p->moments[i].t);
	for (size_t i = 0; i < p->moments_n && !right; i++) {
		const struct moment *m = &p->moments[i];
		const struct part *part = m->part >= 0 ? &p->life.parts[m->part] : NULL;

		right = part && part->kind->truth == LEAKS && m->outcome <= RIGHT && known < NEVER;
		if (!right || times_n >= TIMES_MAX)
			continue;
		times[times_n] = m->t - part->from;
		late[times_n++] = fmax(m->t - known, 0);
	}
}

static void add_growers(const struct moment *m, struct totals *t)
{
	t->growers += m->growers;
	t->growers_false += m->growers_false;
	t->beside += m->beside;
	t->beside_false += m->beside_false;
	t->above_rows += m->growers && !strncmp(m->sentence, "Nothing grows", 13);
}

static void add_moments(const struct play *p, struct totals *t)
{
	t->lives++;
	t->hours += p->life.lasts / 3600;
	for (size_t i = 0; i < p->moments_n; i++) {
		t->sentences++;
		t->of[p->moments[i].outcome]++;
		t->flaps += p->moments[i].flap;
		add_growers(&p->moments[i], t);
	}
	t->changes.all += p->changes.all;
	t->changes.soon += p->changes.soon;
	t->changes.causeless += p->changes.causeless;
	judge_life(p, t);
}

static void add_blame(const struct play *p)
{
	for (size_t i = 0; i < p->moments_n; i++) {
		const struct moment *m = &p->moments[i];

		by_said[m->kind].sentences++;
		by_said[m->kind].of[m->outcome]++;
		if (m->outcome > RIGHT || m->blamed >= 0)
			by_part[kind_of(p, m->blamed)].of[m->outcome]++;
	}
	for (size_t i = 0; i < p->life.parts_n; i++) {
		struct totals *t = &by_part[kind_of(p, (int)i)];

		t->lives++;
		t->sentences += (double)p->moments_n;
	}
}

static void add_pairs(const struct play *p)
{
	for (size_t i = 0; i < p->life.parts_n; i++)
		for (size_t k = 0; k < p->life.parts_n; k++) {
			size_t a = kind_of(p, (int)i), b = kind_of(p, (int)k);

			if (a < b)
				add_moments(p, &pairs[a][b]);
		}
	if (p->life.parts_n == 1)
		add_moments(p, &alone[kind_of(p, 0)]);
}

static void name_parts(const struct life *l, char *to, size_t size)
{
	size_t n = 0;

	to[0] = '\0';
	for (size_t i = 0; i < l->parts_n && n < size; i++)
		n += (size_t)snprintf(to + n, size - n, "%s%s", i ? "+" : "", l->parts[i].kind->name);
}

static double points(enum outcome o)
{
	return o == FALSE_ACCUSATION ? 4 : o == FLAT_OVER_RISE ? 3 : o == MISSED ? 1 : o > RIGHT ? 2 : 0;
}

static void add_worst(const struct play *p)
{
	struct worst w = { .seed = p->life.seed, .nth = p->life.nth };
	const struct moment *bad = NULL;

	for (size_t i = 0; i < p->moments_n; i++) {
		const struct moment *m = &p->moments[i];

		w.points += points(m->outcome);
		if (m->outcome > RIGHT && (!bad || points(m->outcome) > points(bad->outcome)))
			bad = m;
	}
	if (!bad || worst_n >= WORST_MAX)
		return;
	w.points /= (double)p->moments_n;
	w.outcome = bad->outcome;
	w.t = bad->t;
	name_parts(&p->life, w.parts, sizeof(w.parts));
	snprintf(w.sentence, sizeof(w.sentence), "%s", bad->sentence);
	worst[worst_n++] = w;
}

void table_add(const struct play *p)
{
	add_moments(p, &all);
	add_blame(p);
	add_pairs(p);
	add_times(p);
	add_worst(p);
	groups_add(p);
}

/* --- printing ------------------------------------------------------------------------------ */

static double percent(double n, double of)
{
	return of > 0 ? 100 * n / of : 0;
}

static double an_hour(double n)
{
	return all.hours > 0 ? n / all.hours : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *v, size_t n, double q)
{
	qsort(v, n, sizeof(*v), by_value);
	return n ? v[(size_t)((double)(n - 1) * q)] : 0;
}

static void print_all(void)
{
	printf("%.0f lives, %.0f sentences, %.0f hours\n", all.lives, all.sentences, all.hours);
	printf("false accusations   %6.0f  %.2f in 1,000 sentences\n", all.of[FALSE_ACCUSATION],
	       10 * percent(all.of[FALSE_ACCUSATION], all.sentences));
	for (int o = MISSED; o < OUTCOMES_N; o++)
		printf("%-20s%6.0f  %.2f %%\n", outcome_names[o], all.of[o],
		       percent(all.of[o], all.sentences));
	printf("right kind          in %.1f %% of %.0f lives with a growth that can be known\n",
	       percent(all.kind_right, all.known), all.known);
	printf("right line          in %.1f %%\n", percent(all.line_right, all.known));
	printf("of the sentences from then on %.1f %% are right, of the last ones %.1f %%\n",
	       percent(all.right_sentences, all.known_sentences), percent(all.last_right, all.known));
	printf("flaps               %.2f an hour\n", an_hour(all.flaps));
	printf("to the right sentence: median %.0f s", quantile(times, times_n, 0.5));
	printf(", 90 %%: %.0f s;", quantile(times, times_n, 0.9));
	printf(" after it can be known: median %.0f s", quantile(late, times_n, 0.5));
	printf(", 90 %%: %.0f s\n", quantile(late, times_n, 0.9));
}

static void print_row(const char *name, const struct totals *t)
{
	printf("%-28s %6.0f %7.0f", name, t->lives, t->sentences);
	for (int o = FALSE_ACCUSATION; o < OUTCOMES_N; o++)
		printf(" %6.0f", t->of[o]);
	if (t->known > 0)
		printf("   %5.1f %5.1f", percent(t->kind_right, t->known),
		       percent(t->line_right, t->known));
	printf("\n");
}

static void print_head(const char *what)
{
	printf("\n%-28s %6s %7s %6s %6s %6s %6s %6s   %5s %5s\n", what, "lives", "sent.", "FALSE",
	       "missed", "kind", "line", "flat", "kind%", "line%");
}

static void print_parts(void)
{
	print_head("by what it went wrong");
	for (size_t i = 0; i <= part_kinds_n; i++)
		print_row(i < part_kinds_n ? part_kinds[i]->name : "(the app)", &by_part[i]);
	print_head("by what was said");
	for (int i = 0; i < MW_VERDICT_KINDS_N; i++)
		if (by_said[i].sentences > 0)
			print_row(mw_verdict_name((enum mw_verdict_kind)i), &by_said[i]);
	print_head("alone");
	for (size_t i = 0; i < part_kinds_n; i++)
		print_row(part_kinds[i]->name, &alone[i]);
}

static double wrong(const struct totals *t)
{
	double n = 0;

	for (int o = FALSE_ACCUSATION; o < OUTCOMES_N; o++)
		n += t->of[o];
	return t->sentences > 0 ? n / t->sentences : 0;
}

static int by_wrong(const void *a, const void *b)
{
	double x = wrong(*(struct totals *const *)a), y = wrong(*(struct totals *const *)b);

	return (x < y) - (x > y);
}

static void print_pairs(size_t most)
{
	static struct totals *v[KINDS_MAX * KINDS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < part_kinds_n; i++)
		for (size_t k = i + 1; k < part_kinds_n; k++)
			if (pairs[i][k].lives > 2)
				v[n++] = &pairs[i][k];
	qsort(v, n, sizeof(*v), by_wrong);
	print_head("the worst pairs");
	for (size_t i = 0; i < n && i < most; i++) {
		size_t at = (size_t)(v[i] - &pairs[0][0]);
		char name[60];

		snprintf(name, sizeof(name), "%s+%s", part_kinds[at / KINDS_MAX]->name,
			 part_kinds[at % KINDS_MAX]->name);
		print_row(name, v[i]);
	}
}

static int by_points(const void *a, const void *b)
{
	const struct worst *x = a, *y = b;

	return (x->points < y->points) - (x->points > y->points);
}

/* Of each outcome, the worst. */
static void print_worst(size_t most)
{
	qsort(worst, worst_n, sizeof(*worst), by_points);
	for (int o = FALSE_ACCUSATION; o < OUTCOMES_N; o++) {
		size_t n = 0;

		printf("\n%s:\n", outcome_names[o]);
		for (size_t i = 0; i < worst_n && n < most; i++) {
			if ((int)worst[i].outcome != o)
				continue;
			n++;
			printf("  SEED=%llu LIFE=%llu at %.0f s, %s: %s\n",
			       (unsigned long long)worst[i].seed, (unsigned long long)worst[i].nth,
			       worst[i].t, worst[i].parts, worst[i].sentence);
		}
	}
}

void table_print_totals(void)
{
	const struct {
		const char *name;
		double v;
	} v[] = {
		{ "lives", all.lives },
		{ "sentences", all.sentences },
		{ "false_in_1000", 10 * percent(all.of[FALSE_ACCUSATION], all.sentences) },
		{ "missed_percent", percent(all.of[MISSED], all.sentences) },
		{ "wrong_kind_percent", percent(all.of[WRONG_KIND], all.sentences) },
		{ "wrong_line_percent", percent(all.of[WRONG_LINE], all.sentences) },
		{ "flat_over_rise_percent", percent(all.of[FLAT_OVER_RISE], all.sentences) },
		{ "known_percent", percent(all.known, all.lives) },
		{ "right_kind_percent", percent(all.kind_right, all.known) },
		{ "right_line_percent", percent(all.line_right, all.known) },
		{ "flaps_an_hour", an_hour(all.flaps) },
		{ "changes_an_hour", an_hour(all.changes.all) },
		{ "soon_an_hour", an_hour(all.changes.soon) },
		{ "soon_causeless_an_hour", an_hour(all.changes.causeless) },
		{ "growers", all.growers },
		{ "growers_false_percent", percent(all.growers_false, all.growers) },
		{ "beside_percent", percent(all.beside, all.sentences) },
		{ "beside_false_percent", percent(all.beside_false, all.beside) },
		{ "nothing_above_growers", all.above_rows },
		{ "seconds_to_right_median", quantile(times, times_n, 0.5) },
		{ "seconds_to_right_90", quantile(times, times_n, 0.9) },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		printf("%s %.2f\n", v[i].name, v[i].v);
}

void table_print(size_t most)
{
	print_all();
	print_parts();
	print_pairs(most * 2);
	groups_print(most * 3);
	print_worst(most);
}

/* --- one life ---------------------------------------------------------------------------------- */

static void show_parts(const struct life *l)
{
	for (size_t i = 0; i < l->parts_n; i++) {
		const struct part *p = &l->parts[i];

		printf("# %s: from %.0f, until %.0f, can be seen from %.0f on; grew by %.1f MB, %.0f\n",
		       p->kind->name, p->from, fmin(p->until, l->lasts), fmin(p->ready, l->lasts),
		       p->grown / MB, p->count);
		for (size_t k = 0; k < p->lines_n; k++)
			printf("#   %s: %.2f MB kept, %.2f MB lost, %.2f MB garbage, block %.0f\n",
			       p->lines[k]->name, p->lines[k]->kept / MB, p->lines[k]->lost / MB,
			       (p->lines[k]->young + p->lines[k]->old) / MB, p->lines[k]->block);
	}
}

void table_print_wrong(const struct play *p)
{
	char parts[120];

	name_parts(&p->life, parts, sizeof(parts));
	for (size_t i = 0; i < p->moments_n; i++) {
		const struct moment *m = &p->moments[i];

		if (m->outcome <= RIGHT)
			continue;
		printf("%s\tSEED=%llu LIFE=%llu\t%.0f of %.0f s\t%s%s\t%s\t%s\t%s\t%s\n",
		       outcome_names[m->outcome], (unsigned long long)p->life.seed,
		       (unsigned long long)p->life.nth, m->t, p->life.lasts,
		       p->life.gc.ruby ? "Ruby" : "no Ruby", p->life.proves ? ", proofs" : "", parts,
		       kind_of(p, m->blamed) < part_kinds_n ? p->life.parts[m->blamed].kind->name : "-",
		       mw_verdict_name(m->kind), m->sentence);
	}
}

static void show_proofs(const struct play *p)
{
	for (size_t i = 0; i < MW_HELDS; i++) {
		const struct mw_held *h = &p->helds.v[i];
		int k = h->location ? (int)h->len : 0;

		if (k)
			printf("# proof at %.0f of %.*s: %.2f MB kept, %.2f MB lost, %.2f MB garbage; of %.2f MB at %.0f "
			       "%.2f MB kept\n",
			       h->t - p->life.starts, k, h->location, (double)h->kept / MB,
			       (double)h->lost / MB, (double)h->garbage / MB, h->old_bytes / MB,
			       h->old_t - p->life.starts, h->old_kept / MB);
	}
}

void table_show(const struct play *p)
{
	const struct life *l = &p->life;

	printf("# life %llu of seed %llu: %.0f s%s, %s, %s, load %d; %u collections, %u major; proofs %d\n",
	       (unsigned long long)l->nth, (unsigned long long)l->seed, l->lasts,
	       l->child ? ", a child" : "", l->gc.ruby ? "Ruby" : "no Ruby",
	       l->memory.glibc ? "glibc" : "another allocator", l->load.form, l->gc.gcs, l->gc.majors,
	       l->proves);
	show_parts(l);
	show_proofs(p);
	for (size_t i = 0; i < p->moments_n; i++) {
		const struct moment *m = &p->moments[i];
		size_t at = (size_t)m->t / STEP;

		printf("%6.0f %-14s %s%s%-12s rss %.1f, heap %.1f, free %.1f: %s%s%s%s\n", m->t,
		       outcome_names[m->outcome], m->known ? "known " : "", m->flap ? "FLAP " : "",
		       mw_verdict_name(m->kind), l->rss_then[(size_t)m->t] / MB, l->heap_then[at] / MB,
		       l->free_then[at] / MB, m->sentence, *m->why ? " (" : "", m->why,
		       *m->why ? ")" : "");
	}
}
