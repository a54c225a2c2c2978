/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * matrix.c - the kind that is by the kind that is said, and the line. See table.h.
 *
 * The kind that is: that of the heaviest growth that can be known at the time of the sentence; "-" if there is none. Then
 * any kind may be said that isn't false.
 */
#include <stdio.h>

#include "table.h"

enum { KINDS = MW_VERDICT_KINDS_N };

static size_t kinds[KINDS + 1][KINDS], false_ones[KINDS + 1][KINDS];
static size_t lines[KINDS + 1][NAMES_ANOTHER + 1]; /* of sentences that say that it grows */

void matrix_add(const struct play *p)
{
	for (size_t i = 0; i < p->moments_n; i++) {
		const struct moment *m = &p->moments[i];

		kinds[m->is][m->kind]++;
		false_ones[m->is][m->kind] += m->outcome == FALSE_ACCUSATION;
		if (mw_verdict_grows(m->kind))
			lines[m->is][m->names]++;
	}
}

static const char *name_of(int kind)
{
	return kind < KINDS ? mw_verdict_name((enum mw_verdict_kind)kind) : "-";
}

static size_t sum(const size_t *v, size_t n)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += v[i];
	return all;
}

static size_t column(int said)
{
	size_t all = 0;

	for (int is = 0; is <= KINDS; is++)
		all += kinds[is][said];
	return all;
}

static void print_cells(const char *title, size_t v[KINDS + 1][KINDS])
{
	printf("\n%-14s", title);
	for (int said = 0; said < KINDS; said++)
		if (column(said))
			printf(" %6.6s", name_of(said));
	printf("\n");
	for (int is = 0; is <= KINDS; is++) {
		if (!sum(kinds[is], KINDS))
			continue;
		printf("%-14s", name_of(is));
		for (int said = 0; said < KINDS; said++)
			if (column(said))
				printf(" %6zu", v[is][said]);
		printf("\n");
	}
}

void matrix_print(void)
{
	print_cells("is, and said", kinds);
	print_cells("false", false_ones);
	printf("\n%-14s %6s %6s %6s\n", "line", "none", "its", "other");
	for (int is = 0; is <= KINDS; is++)
		if (sum(lines[is], NAMES_ANOTHER + 1))
			printf("%-14s %6zu %6zu %6zu\n", name_of(is), lines[is][NAMES_NONE],
			       lines[is][NAMES_ITS_LINE], lines[is][NAMES_ANOTHER]);
}
