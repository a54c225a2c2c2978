/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flame_range.h - growth in a range of time, since the mark, or since or until the peak, for stacks.c. */
#pragma once

#include "server/marks/grown.h"
#include "pages.h"

/* FROM: since the peak, up to now. TO: from the start to the peak. */
enum mw_flame_peak { MW_PEAK_NONE, MW_PEAK_FROM, MW_PEAK_TO };

struct mw_flame_range {
	bool is; /* if not, growth is since the reset */
	bool mark; /* since the mark, up to now */
	enum mw_flame_peak peak; /* is an end of it the peak? */
	double from, to; /* seconds of uptime, as the history has them */
	double unix_from, unix_to; /* the same in seconds since 1970 */
	struct mw_grown grown; /* owned */
	int64_t total; /* bytes: the change of all live bytes */
	int64_t shown; /* of these, the locations' that are shown */
	uint64_t samples; /* that these rest on */
	int64_t elsewhere; /* those of all that the history doesn't keep, if they aren't few; 0 beside a single location */
};

/*
 * The range of a query with by=growth; *how is made so that the profile has its growth, while *r
 * stays where it is. 0, or a status with a reason; free it in any case.
 */
int mw_flame_range_make(struct mw_flame_range *r, const struct mw_call *, const struct mw_params *,
			struct mw_profile_how *how, struct mw_buf *why);
void mw_flame_range_free(struct mw_flame_range *);
/* The profile is made, and shown of this row, or of MW_ROW_ALL: what grew there, what elsewhere? */
void mw_flame_range_made(struct mw_flame_range *, const struct mw_profile *, uint32_t row);

/* Appends "range":{...} and a comma; nothing if there is no range. */
void mw_flame_range_json(struct mw_buf *, const struct mw_flame_range *);
/* Some sentences about a range, with a link to the growth since the reset. */
void mw_flame_range_html(struct mw_buf *, const struct mw_flame_range *, const struct mw_call *,
			 const struct mw_params *);
/* The query's range as hidden fields of a form. */
void mw_flame_range_fields(struct mw_buf *, const struct mw_params *);
