/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evidence.h - a verdict's evidence, collected from a site's history.
 *
 * Each range of time is told by points of one grid only, the finest that reaches back to its
 * begin. Points of different grids in one range would bias the floors.
 */
#ifndef MW_REPORT_LIVE_EVIDENCE_H
#define MW_REPORT_LIVE_EVIDENCE_H

#include "verdict.h"

struct mw_evidence_source {
	const struct mw_history *history;
	double now; /* uptime */
	bool paused;
	uint64_t rate; /* bytes from sample to sample, if live memory is or was an estimate; else 0 */
	/* As mw_curves_read, which frees with mw_curves_free_set. NULL: there are no curves. */
	int (*curves)(void *ctx, double from, double to, struct mw_curve_set *);
	void *ctx;
	/* as in struct mw_evidence */
	const struct mw_helds *held;
	const char *no_proof;
	double gc_disabled;
	const struct mw_accused *accused;
	const struct mw_object_stay *stays;
	size_t stays_n;
};

/*
 * The evidence for [from, to]; from < 0: for all ranges up to now. 0; -1: no memory, and it is all
 * zero. Points into the history: valid until that changes.
 */
int mw_evidence_make(struct mw_evidence *, const struct mw_evidence_source *, double from, double to);
void mw_evidence_free(struct mw_evidence *); /* all zero again */

#endif
