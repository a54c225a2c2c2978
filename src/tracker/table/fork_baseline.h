/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork_baseline.h - the counts that a forked child inherited.
 *
 * A child's totals go on from these; a family's sum must not count them twice. Only a child that
 * asked for it keeps them, once, right after its fork. All calls are under the reading lock
 * (snapshot.h).
 */
#pragma once

#include "callsite.h"

/* Sets id's fork baseline to these sums. Without memory it stays zero. */
void mw_fork_baseline_set(uint32_t id, const struct mw_counters *);

/*
 * The inherited part of id's counts since its baseline `since`: zeros if that is younger than
 * the fork.
 */
struct mw_counters mw_fork_baseline_part(uint32_t id, const struct mw_counters *since);

/*
 * For mw_base_fold: moves id's part to `into`. `more`: what the baseline of `into` is raised by.
 * Called before the baselines, `from` of id and `to` of `into`, change.
 */
void mw_fork_baseline_fold(uint32_t id, const struct mw_counters *from, uint32_t into,
			   const struct mw_counters *to, const struct mw_counters *more);
