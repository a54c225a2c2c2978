/* SPDX-License-Identifier: GPL-2.0-or-later */
/* self.c - a process's curve for its family, and its slope. See self.h. */
#include "self.h"

#include <stdlib.h>

#include "server/history/history.h"

enum { SEEN_N = 6, SEEN_SECONDS = 90 }; /* a slope needs so much at least */

void mw_self_curve(struct mw_self *s, const struct mw_history *h)
{
	uint32_t from = h->fine_n > MW_FINE_N ? h->fine_n - MW_FINE_N : 0;
	uint32_t last = h->fine_n ? h->fine[(h->fine_n - 1) % MW_FINE_N].t : 0;

	s->n = 0;
	for (uint32_t i = from; i != h->fine_n; i++) {
		const struct mw_point *p = &h->fine[i % MW_FINE_N];

		if (p->t + MW_FINE_N < last)
			continue;
		/* 900 seconds have 46 different steps at most: s->n stays below MW_SELF_N */
		if (!s->n || s->v[s->n - 1].t / MW_SELF_STEP != p->t / MW_SELF_STEP)
			s->n += s->n < MW_SELF_N;
		s->v[s->n - 1] = (struct mw_spot){ p->t, p->rss, p->live };
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double mw_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_doubles);
	if (!n)
		return 0;
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

bool mw_self_slope(const struct mw_self *s, double *slope)
{
	double slopes[MW_SELF_N * (MW_SELF_N - 1) / 2];
	size_t n = 0;

	*slope = 0;
	if (s->n < SEEN_N || s->v[s->n - 1].t - s->v[0].t < SEEN_SECONDS)
		return false;
	for (size_t i = 0; i < s->n; i++)
		for (size_t j = i + 1; j < s->n; j++)
			if (s->v[i].live != MW_KIB_UNKNOWN && s->v[j].live != MW_KIB_UNKNOWN)
				slopes[n++] = ((double)s->v[j].live - (double)s->v[i].live) /
					      (double)(s->v[j].t - s->v[i].t);
	*slope = mw_median(slopes, n) * 1024 * 60;
	return n > 0;
}
