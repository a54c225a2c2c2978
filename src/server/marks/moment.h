/* SPDX-License-Identifier: GPL-2.0-or-later */
/* moment.h - when a snapshot was taken, and the process as a whole then. Plain data. */
#pragma once

#include "shared/report/report.h"

struct mw_moment {
	double unix_time; /* seconds since 1970 */
	double uptime;    /* seconds */
	uint64_t generation; /* GC.count, if has_gc */
	bool has_gc;      /* Ruby runs in the process */
	uint64_t rss;     /* bytes; 0: not known */
	uint64_t live_bytes, live;
	uint64_t resets;  /* so far: of two moments with the same number the totals can be compared */
};

/* Now. rss 0: not known. live_bytes and live are those of the rows. */
struct mw_moment mw_moment_now(const struct mw_snapshot *, const struct mw_stats *, double uptime,
			       uint64_t rss);

/* "2026-01-31T23:59:59.123Z" */
void mw_buf_time(struct mw_buf *, double unix_time);
