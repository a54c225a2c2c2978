/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff.h - two moments compared, location by location, by what was live.
 *
 * Between marks, the start and now the numbers are exact (marks.h). At the peak (tracker/table/peak.h) bytes are, and
 * blocks, calls and objects aren't known. Other moments are those of the
 * history (grown.h): bytes are rounded down to MW_CURVES_UNIT, blocks, calls and objects aren't known, and the
 * locations that it doesn't keep are one row, "(rest)".
 *
 * A row is a mw_row of its own meaning, which mw_diff_table reads, and which sums and groups as any
 * other does. Native locations go by module and offset, and are shown without an address.
 */
#pragma once

#include "shared/report/columns.h"
#include "server/history/curves.h"
#include "marks.h"

/*
 * growth, growth_blocks, from_bytes, to_bytes, from_blocks, to_blocks, allocations, frees, location; of Ruby's
 * objects growth_objects, growth_object_bytes, growth_objects_error, from_objects, to_objects. Unknown
 * values are empty.
 */
extern const struct mw_table mw_diff_table;

struct mw_diff {
	bool exact; /* blocks and calls are known, too */
	bool of_peak; /* bytes are exact */
	struct mw_moment from, to; /* of the history: their times alone */
	struct mw_row *rows;       /* owned; in no particular order */
	size_t n;
	struct mw_snapshot *now;   /* owned; texts of rows; NULL: there was no need of one */
	struct mw_curve_set set;   /* owned; likewise */
};

struct mw_diff_source {
	const struct mw_marks *marks;
	const struct mw_curves *curves;
	const struct mw_api *api;
	double uptime;    /* now */
	double unix_time; /* now */
};

/*
 * from NULL: the start. to NULL: now. A row for each location at which something was live at either
 * moment, or which is in the table. 0; -1: no memory, and all is zero. The marks' texts are borrowed.
 */
int mw_diff_make(struct mw_diff *, const struct mw_diff_source *, const struct mw_named_mark *from,
		 const struct mw_named_mark *to);
/* By the history; seconds of uptime. 0; 1: it has nothing of that time; -1: no memory. */
int mw_diff_between(struct mw_diff *, const struct mw_diff_source *, double from, double to);
/* An end of mw_diff_peak. None of these: the start. */
struct mw_diff_moment {
	bool is_peak, is_now;
	const struct mw_named_mark *mark;
};
/* One end or both are the peak (mw_stats.peak_bytes). 0; -1: no memory. */
int mw_diff_peak(struct mw_diff *, const struct mw_diff_source *, const struct mw_diff_moment *from,
		 const struct mw_diff_moment *to);
void mw_diff_free(struct mw_diff *, const struct mw_api *); /* all zero again */
