/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork_baseline.h - what a forked child had counted before it was born: its totals go
 * on from there, and whoever adds up a family must not count that twice.
 *
 * Nothing is kept but in a child that asked for it, once, right after its
 * fork. All calls: under the reading lock (snapshot.h).
 */
#ifndef MW_TABLE_FORK_BASELINE_H
#define MW_TABLE_FORK_BASELINE_H

#include "callsite.h"

/* From now on id was born with these sums. No memory: it was born with none. */
void mw_fork_baseline_set(uint32_t id, const struct mw_counters *);

/*
 * How much of what id counted since its baseline `since` it was born with. None
 * where the baseline is younger than the fork.
 */
struct mw_counters mw_fork_baseline_part(uint32_t id, const struct mw_counters *since);

/*
 * mw_base_fold: id's part goes to another id, together with `more` that its
 * baseline is raised by; before the baselines, `from` and `to`, are changed.
 */
void mw_fork_baseline_fold(uint32_t id, const struct mw_counters *from, uint32_t into,
			   const struct mw_counters *to, const struct mw_counters *more);

#endif
