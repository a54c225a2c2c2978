/* SPDX-License-Identifier: GPL-2.0-or-later */
/* floors.c - the floors of memory over time. See floors.h. */
#include "floors.h"

void mw_floors_lowest(struct mw_floors *s, const double *t, const double *v, size_t n, double from,
		      double to)
{
	double width;
	size_t first = 0, bin = MW_TREND_BINS;

	s->n = 0;
	while (first < n && (t[first] < from || v[first] != v[first]))
		first++;
	if (first < n && t[first] > from)
		from = t[first];
	width = (to - from) / MW_TREND_BINS;
	for (size_t i = first; i < n && t[i] <= to; i++) {
		size_t k;

		if (v[i] != v[i])
			continue;
		k = width > 0 ? (size_t)((t[i] - from) / width) : 0;
		if (k >= MW_TREND_BINS)
			k = MW_TREND_BINS - 1;
		if (k != bin) {
			bin = k;
			s->n++;
		} else if (v[i] > s->v[s->n - 1]) {
			continue;
		}
		s->t[s->n - 1] = t[i];
		s->v[s->n - 1] = v[i];
	}
}

void mw_floors_troughs(struct mw_floors *to, const struct mw_floors *s, double tooth)
{
	size_t high = 0, low = 0;
	int way = 0;

	to->n = 0;
	for (size_t i = 1; i < s->n; i++) {
		if (s->v[i] > s->v[high])
			high = i;
		if (s->v[i] < s->v[low])
			low = i;
		if (way >= 0 && s->v[high] - s->v[i] > tooth) {
			way = -1;
			low = i;
		} else if (way <= 0 && s->v[i] - s->v[low] > tooth) {
			if (way) {
				to->t[to->n] = s->t[low];
				to->v[to->n++] = s->v[low];
			}
			way = 1;
			high = i;
		}
	}
	if (way < 0 && to->n && s->v[low] <= to->v[to->n - 1]) {
		to->t[to->n] = s->t[low];
		to->v[to->n++] = s->v[low];
	}
}
