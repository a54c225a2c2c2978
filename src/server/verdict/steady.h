/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steady.h - does a verdict of another kind replace the one that is told?
 *
 * A kind that changes without a reason confuses: it may be back in seconds. So another kind is told at once
 * if there is new evidence, or if it says what can't wait; else once the kind that is told hasn't been the
 * judgement for MW_STEADY_SECONDS.
 *
 * Pure: the caller owns the struct. All zero at first: any verdict is told.
 */
#ifndef MW_VERDICT_STEADY_H
#define MW_VERDICT_STEADY_H

#include "verdict.h"

enum { MW_STEADY_SECONDS = 45 };

struct mw_steady {
	bool told;
	enum mw_verdict_kind kind; /* that is told */
	bool differs;              /* the judgement is another one */
	double since;              /* uptime: it has been another one */
	uint32_t evidence;
	struct mw_accused accused; /* by what is told */
};

/* evidence: a number that changes with each proof, major collection and event. True: tell it. */
bool mw_steady_tells(struct mw_steady *, const struct mw_verdict *, double now, uint32_t evidence);

#endif
