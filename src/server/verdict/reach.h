/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reach.h - when a growth reaches the memory limit.
 *
 * Rates are those of RSS's floor since the growth began: over all of that time, its first half and its second
 * half. The fastest gives the soonest time, the slowest the latest one. The rest of the group isn't known
 * and is left out. The machine's memory is told of only once half of it is used. Pure functions of the verdict,
 * the limits and the history; they allocate.
 */
#ifndef MW_VERDICT_REACH_H
#define MW_VERDICT_REACH_H

#include "server/history/history.h"
#include "server/history/limit.h"

#define MW_REACH_NEVER 1e18

/* A later time isn't told. Nor is one that lies further away than so many times the growth lasted: a minute tells of five hours. */
enum { MW_REACH_SECONDS = 7 * 86400, MW_REACH_TIMES = 300 };

/* All zero: nothing grows, or the limit isn't near. */
struct mw_reach {
	enum mw_limit_of of;
	double limit; /* bytes */
	double soonest, latest; /* seconds from now; MW_REACH_NEVER: the slowest rate never gets there */
	double unix_now;
};

struct mw_verdict;
/* start: Unix time at uptime 0. Nothing is found for a verdict about the past, or one that asks for no action. */
void mw_reach_find(struct mw_reach *, const struct mw_verdict *, const struct mw_limits *,
		   const struct mw_history *, double start);

#endif
