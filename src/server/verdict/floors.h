/* SPDX-License-Identifier: GPL-2.0-or-later */
/* floors.h - the lowest points of a series: what a trend is told from. For trend.c alone. */
#ifndef MW_REPORT_LIVE_FLOORS_H
#define MW_REPORT_LIVE_FLOORS_H

#include "trend.h"

/* At most MW_TREND_BINS points, none unknown. */
struct mw_floors {
	size_t n;
	double t[MW_TREND_BINS], v[MW_TREND_BINS];
};

/* The lowest point of each span of time. */
void mw_floors_lowest(struct mw_floors *, const double *t, const double *v, size_t n, double from,
		      double to);
/*
 * The troughs between teeth higher than `tooth`. The first tooth has no trough before it. What
 * the last fall came down to counts only if it is no higher than the trough before.
 */
void mw_floors_troughs(struct mw_floors *to, const struct mw_floors *, double tooth);

/* trend.c: the median of the values at times within [from, to]; NaN: there is none. */
double mw_floors_median(const struct mw_floors *, double from, double to);
/* trend.c: Theil and Sen's slope of the floors from that one on. */
double mw_floors_slope(const struct mw_floors *, size_t from);

#endif
