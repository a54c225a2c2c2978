/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile_shown.h - which frames and stacks of a profile are shown. Changes the profile in place, once, after it
 * is calibrated: bytes and samples of the stacks that stay are as before. So are their rows and labels.
 *
 * Each stack keeps at least one frame. Frames of the profile aren't removed: a few are added.
 */
#pragma once

#include "shared/report/profile.h"

/*
 * FOLDED: native frames without a name that follow each other in one library are one frame, "libruby, internal".
 * RUBY: methods of Ruby and those in C alone. ALL: each frame with its address.
 */
enum mw_frames_shown { MW_FRAMES_FOLDED, MW_FRAMES_RUBY, MW_FRAMES_ALL };

struct mw_profile_shown {
	enum mw_frames_shown frames;
	bool no_startup; /* without stacks that load code, and without what leads to the program */
	uint32_t row;    /* the sums below are of its stacks, or MW_ROW_ALL */
	/* out: what no_startup left out */
	uint64_t bytes[MW_BY_N];
	int64_t growth;
};

/* False: no memory; the profile can only be freed. */
bool mw_profile_show(struct mw_profile *, struct mw_profile_shown *);
