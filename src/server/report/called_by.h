/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * called_by.h - the callers of one location, in a few rows.
 *
 * The location's stacks are looked at from its own frame outwards. A row is a run of frames that
 * some of them share, up to where their callers differ; below it are rows of these callers.
 */
#pragma once

#include "shared/report/profile.h"

enum { MW_CALLED_BY_MOST = 10 };

struct mw_called_row {
	const uint32_t *frames; /* indexes into the profile's frames, innermost first */
	uint32_t n;             /* 0: stacks of which no caller is known */
	uint32_t depth;         /* 0; else it called the last frame of the row that it is below */
	uint64_t bytes[MW_BY_N], blocks[MW_BY_N], samples[MW_BY_N]; /* sums over its stacks */
};

struct mw_called_by {
	struct mw_called_row rows[MW_CALLED_BY_MOST]; /* each behind what it called; the largest first */
	size_t n;
	size_t more; /* further rows, for which there was no room */
	enum mw_profile_by by; /* they were chosen by live bytes or, if none lives, allocated ones */
};

/* p: the profile of one location (mw_profile_how.row), which stays. False: no memory. */
bool mw_called_by_make(struct mw_called_by *, const struct mw_profile *p);
/*
 * {"by":"live","samples":9,"rows":[{"depth":0,"live_bytes":1,..,"frames":[{"name":..,"file":..,
 * "line":..},..]},..],"more":0}; samples: of all stacks, by what chose the rows
 */
void mw_called_by_json(struct mw_buf *, const struct mw_called_by *, const struct mw_profile *);
