/* SPDX-License-Identifier: GPL-2.0-or-later */
/* evidence.c - from a site's history to the evidence of a verdict. See evidence.h. */
#include "evidence.h"

#include <stdlib.h>
#include <string.h>

/* A grid of the history: its points in order of time are points[(first + i) % size]. */
struct grid {
	const struct mw_point *points;
	uint32_t size, first, n;
};

static struct grid ring(const struct mw_point *points, uint32_t size, uint32_t added)
{
	return (struct grid){ points, size, added > size ? added % size : 0, added > size ? size : added };
}

static const struct mw_point *at(const struct grid *g, uint32_t i)
{
	return &g->points[(g->first + i) % g->size];
}

/* The finest grid that reaches back to `from`; the last one, if none does. */
static struct grid choose(const struct mw_history *h, double from)
{
	struct grid grids[3] = { ring(h->fine, MW_FINE_N, h->fine_n),
				 ring(h->coarse, MW_COARSE_N, h->coarse_n),
				 ring(h->whole, MW_LONG_N, h->long_n) };
	double begin = grids[2].n ? at(&grids[2], 0)->t : 0; /* there is nothing before */

	for (int i = 0; i < 2; i++)
		if (grids[i].n && at(&grids[i], 0)->t <= (from > begin ? from : begin) + 1)
			return grids[i];
	return grids[2];
}

static int add_scale(struct mw_evidence *e, const struct mw_evidence_source *src, double from, double to)
{
	struct grid g = choose(src->history, from);
	struct mw_curve_set *curves = calloc(1, sizeof(*curves));
	struct mw_point *points = calloc(g.n + 1, sizeof(*points));
	size_t n = 0;

	for (uint32_t i = 0; points && i < g.n; i++)
		if (at(&g, i)->t >= from && at(&g, i)->t <= to)
			points[n++] = *at(&g, i);
	if (!curves || !points || (src->curves && src->curves(src->ctx, from, to, curves))) {
		free(points);
		free(curves);
		return -1;
	}
	e->scales[e->scales_n++] = (struct mw_scale){ from, to, points, n, curves };
	return 0;
}

int mw_evidence_make(struct mw_evidence *e, const struct mw_evidence_source *src, double from, double to)
{
	static const double spans[MW_SCALES_MAX] = { 900, 6 * 3600, 24 * 3600, 1e12 };
	const struct mw_history *h = src->history;
	double seen;
	int rc = 0;

	*e = (struct mw_evidence){ .paused = src->paused, .history = h, .chosen = from >= 0 };
	e->start = h->long_n ? h->whole[0].t : 0;
	seen = src->now - e->start;
	if (from >= 0)
		rc = add_scale(e, src, from, to);
	/* a longer range must say more than the one before */
	for (size_t i = 0; from < 0 && !rc && i < MW_SCALES_MAX; i++)
		if (!i || seen > spans[i - 1] * 1.2)
			rc = add_scale(e, src, src->now > spans[i] ? src->now - spans[i] : 0, src->now);
	if (rc)
		mw_evidence_free(e);
	return rc;
}

void mw_evidence_free(struct mw_evidence *e)
{
	for (size_t i = 0; i < e->scales_n; i++) {
		mw_curves_free_set(e->scales[i].curves);
		free(e->scales[i].curves);
		free(e->scales[i].points);
	}
	*e = (struct mw_evidence){ 0 };
}
