/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rests.h - values that neither rise nor fall: flat, a step, a rise that stopped. For trend.c alone. */
#ifndef MW_REPORT_LIVE_RESTS_H
#define MW_REPORT_LIVE_RESTS_H

#include "floors.h"

/* The points themselves, none behind the end of the time in question. */
struct mw_series {
	const double *t, *v;
	size_t n;
};

/*
 * The course of what neither rises nor falls: flat, a step, or what rose and stopped; else up and
 * down. slack: so far from a level is still that level.
 */
void mw_rests(struct mw_trend *, const struct mw_floors *, const struct mw_series *all, double slack);

#endif
