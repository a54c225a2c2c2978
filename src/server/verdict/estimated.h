/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * estimated.h - takes chance out of curves of live memory, where allocations are sampled.
 *
 * A sum of samples with one in `rate` bytes is off by the root of rate * sum, one standard deviation. A curve that
 * stays within three of them of its last true step hasn't moved, as far as anyone can tell: it is held there. What
 * rises goes on by steps of that size.
 */
#ifndef MW_VERDICT_ESTIMATED_H
#define MW_VERDICT_ESTIMATED_H

#include "server/history/curves.h"
#include "server/history/history.h"

enum { MW_ESTIMATED_SAMPLES = 30 }; /* a growth that rests on fewer accuses no location */

/* Holds the live memory of n points, in their order. rate: bytes from sample to sample. */
void mw_estimated_points(struct mw_point *, size_t n, uint64_t rate);
/* Holds the curves of a set that the caller owns, and takes out those whose change may be chance, or is less than
   MW_ESTIMATED_SAMPLES samples. */
void mw_estimated_curves(struct mw_curve_set *, uint64_t rate);

#endif
