/* SPDX-License-Identifier: GPL-2.0-or-later */
/* evidence.c - from a site's history to the evidence of a verdict. See evidence.h. */
#include "evidence.h"

#include "estimated.h"
#include "trend.h"

#include <stdlib.h>
#include <string.h>

enum { LOWEST_OF = 60 /* seconds */ };

/*
 * Longer steps have their lowest point, and the last one has only begun. So the lowest of the last minute stands for it,
 * but for what is counted.
 */
static void lower_last(struct mw_point *last, const struct mw_history *h)
{
	struct mw_history_grid g = mw_history_finest(h, last->t > LOWEST_OF ? last->t - LOWEST_OF : 0);
	struct mw_point counted = *last;

	for (uint32_t i = 0; g.step == 1 && i < g.n; i++) {
		const struct mw_point *p = mw_history_at(&g, i);

		if (p->t + LOWEST_OF > counted.t && p->t <= counted.t && p->rss < last->rss)
			*last = *p;
	}
	last->t = counted.t;
	last->threads = counted.threads;
	last->fds = counted.fds;
	last->gcs = counted.gcs;
	last->majors = counted.majors;
	last->majors_done = counted.majors_done;
}

static int add_scale(struct mw_evidence *e, const struct mw_evidence_source *src, double from, double to)
{
	struct mw_history_grid g = mw_history_finest(src->history, from);
	struct mw_curve_set *curves = calloc(1, sizeof(*curves));
	struct mw_point *points = calloc(g.n + 1, sizeof(*points));
	size_t n = 0;

	for (uint32_t i = 0; points && i < g.n; i++)
		if (mw_history_at(&g, i)->t >= from && mw_history_at(&g, i)->t <= to)
			points[n++] = *mw_history_at(&g, i);
	if (n && g.step > 1)
		lower_last(&points[n - 1], src->history);
	if (!curves || !points || (src->curves && src->curves(src->ctx, from, to, curves))) {
		free(points);
		free(curves);
		return -1;
	}
	if (src->rate) {
		mw_estimated_points(points, n, src->rate);
		mw_estimated_curves(curves, src->rate);
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

	*e = (struct mw_evidence){
		.paused = src->paused,
		.history = h,
		.chosen = from >= 0,
		.held = src->held,
		.no_proof = src->no_proof,
		.gc_disabled = src->gc_disabled,
		.accused = src->accused,
		.stays = src->stays,
		.stays_n = src->stays_n
	};
	e->start = h->long_n ? h->whole[0].t : 0;
	seen = src->now - e->start;
	if (from >= 0)
		rc = add_scale(e, src, from, to);
	/* a longer range must say more than the one before */
	for (size_t i = 0; from < 0 && !rc && i < MW_SCALES_MAX; i++)
		if (!i || seen > spans[i - 1] * 1.2)
			rc = add_scale(e, src, mw_larger(src->now - spans[i], e->start), src->now);
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
