/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grown.h - the change of each location's live bytes in a range of time, from the history.
 *
 * The history has moments, some seconds apart or more (curves.h). A range is from the last moment that
 * isn't after its begin, or from the first one of all, to the last one that isn't after its end. A
 * location counts from the first moment at which it is known. The others' change is known only as
 * their sum.
 */
#pragma once

#include "server/history/curves.h"
#include "server/history/mark.h"

struct mw_grown {
	uint32_t from, to; /* these moments, in whole seconds of uptime */
	int64_t total;     /* the change of all live bytes */
	struct mw_curve_set set; /* owned */
};

/* 0; 1: the history has nothing of that time; -1: no memory. Unless 0, *g is all zero. */
int mw_grown_read(struct mw_grown *g, const struct mw_curves *, const struct mw_api *, double from,
		  double to);
void mw_grown_free(struct mw_grown *); /* all zero again */

/*
 * For mw_profile_how: makes each row's growth that of the range; 0, if the history doesn't keep the
 * location. ctx: struct mw_grown; all zero: no row has grown. False: no memory.
 */
bool mw_grown_set(struct mw_snapshot *, const void *ctx);
/* The same since the mark. ctx: struct mw_mark, which is set. True. */
bool mw_grown_set_mark(struct mw_snapshot *, const void *ctx);
/* The sum of all rows' growth. */
int64_t mw_grown_sum(const struct mw_snapshot *);

/* The range of a sum of processes, whose rows have its growth already. */
struct mw_grown_of_all {
	double from, to;           /* uptime of the process that answers */
	double unix_from, unix_to; /* the same in seconds since 1970 */
	int64_t total;             /* the sum of the processes' */
};
