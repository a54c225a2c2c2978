/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history.h - the process's memory over time, and when marks were set.
 *
 * Two rings of fixed size: a point a second for the last 15 minutes, and one a
 * minute for the last 24 hours; 38 kB together, nothing is allocated. All
 * zero at first. Times are seconds of uptime and only go forward:
 * mw_history_add() drops a point that isn't later than the last one. Seconds
 * without a point (a stopped process) are missing.
 *
 * Not thread-safe: the owner of the struct makes all calls.
 */
#ifndef MW_REPORT_HISTORY_H
#define MW_REPORT_HISTORY_H

#include <stdint.h>

#include "report/report.h"

enum {
	MW_FINE_N = 15 * 60,
	MW_COARSE_N = 24 * 60,
	MW_COARSE_STEP = 60, /* seconds */
	MW_MARKS_N = 32
};

#define MW_KIB_UNKNOWN UINT32_MAX

/* Sizes in KiB; MW_KIB_UNKNOWN: not known. */
struct mw_point {
	uint32_t t; /* whole seconds of uptime */
	uint32_t rss, live, heap;
};

struct mw_history {
	uint32_t fine_n, coarse_n, marks_n; /* ever added; the rings keep the last ones */
	struct mw_point fine[MW_FINE_N], coarse[MW_COARSE_N];
	double marks[MW_MARKS_N]; /* uptime in seconds */
};

/* Bytes, rounded to KiB; 4 TiB at most. */
uint32_t mw_kib(uint64_t bytes);

/* The first point of each minute goes to both rings. */
void mw_history_add(struct mw_history *, struct mw_point);
void mw_history_mark(struct mw_history *, double uptime);

/*
 * One JSON object: now, unix (s), fine, coarse, marks. `fine` leaves out points
 * older than 15 minutes, `coarse` those older than a day.
 */
void mw_history_render(struct mw_buf *, const struct mw_history *, double now, double unix_now);

#endif
