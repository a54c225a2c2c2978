/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proof.h - the proof of a rise of live memory by Ruby's major collections.
 *
 * Objects that have become old stay until a major collection, which may come once in many
 * minutes. Until then, garbage rises like a leak. So a rise counts if what major collections left
 * rises, too: what five or more left, in at least four fifths of its time, more in each fifth than
 * before.
 *
 * Before there are so many, a single line may still be told: one that has at least half of the
 * rise, rises steadily by itself, and never fell. Garbage that was collected before has made its
 * line fall.
 *
 * For verdict.c and look.c alone. Pure functions, no allocation. Times are seconds of uptime.
 */
#ifndef MW_REPORT_LIVE_PROOF_H
#define MW_REPORT_LIVE_PROOF_H

#include "verdict.h"

enum mw_proof {
	MW_PROOF_UNKNOWN, /* no Ruby, or its major collections aren't known */
	MW_PROOF_HOLDS,
	MW_PROOF_SLOWS,   /* it holds, but what they left rose less than half as fast in the end */
	MW_PROOF_FAILS
};

/* Of a series that rises by `rate` bytes a second over [since, to]. NaN: not known. */
enum mw_proof mw_proof_of(const struct mw_scale *, const double *t, const double *v, size_t n,
			  double since, double to, double rate);
/* Did it ever fall by more than `least`, and an eighth of what it had ranged over until then? */
bool mw_proof_fell(const double *v, size_t n, double least);
/*
 * The value that the last complete major collection within [from, to] left, and when. NaN: none was
 * complete. If collections aren't known, the last value.
 */
double mw_proof_left(const struct mw_scale *, const double *t, const double *v, size_t n, double from,
		     double to, double *at);

#endif
