/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steady.h - does a verdict of another kind replace the one that is told?
 *
 * A kind that changes without a reason confuses: it may be back in seconds. So a kind that is told stays for
 * MW_STEADY_SECONDS at least, unless something has happened: an event, a proof, a jump, or the end of a growth that is
 * told. Nor does it stay if the judgement denies it: "nothing grows", and something does; or the reverse. Another kind
 * always waits until the one that is told hasn't been the judgement for MW_DIFFERS_SECONDS; the end of a start for
 * MW_STARTED_SECONDS.
 *
 * Pure: the caller owns the struct. All zero at first: any verdict is told.
 */
#ifndef MW_VERDICT_STEADY_H
#define MW_VERDICT_STEADY_H

#include "verdict.h"

enum { MW_STEADY_SECONDS = 180, MW_DIFFERS_SECONDS = 45, MW_STARTED_SECONDS = 25 };

/* How many there have been until now. */
struct mw_so_far {
	uint32_t events, proofs, majors;
};

struct mw_steady {
	bool told;
	enum mw_verdict_kind kind; /* that is told */
	double since;              /* uptime: it has been told */
	/* uptime since which the judgement has been another one, and has denied what is told; 0: it isn't, it doesn't */
	double differs_since, denied_since;
	struct mw_so_far seen; /* when it was told */
	struct mw_accused accused; /* by what is told */
};

/* True: tell it. */
bool mw_steady_tells(struct mw_steady *, const struct mw_verdict *, double now, const struct mw_so_far *);

#endif
