/* SPDX-License-Identifier: GPL-2.0-or-later */
/* missing.c - see missing.h. */
#include "missing.h"

const char *mw_missing_name(enum mw_missing m)
{
	static const char *const names[] = {
		[MW_MISSING_SAMPLED] = "sampled", [MW_MISSING_BEFORE] = "before", [MW_MISSING_PAUSED] = "paused", [MW_MISSING_MEMORY] = "memory"
	};

	return names[m];
}

const char *mw_missing_why(enum mw_missing m, bool now)
{
	switch (m) {
	case MW_MISSING_SAMPLED:
		return now ? "allocations are sampled" : "allocations were sampled for a while";
	case MW_MISSING_BEFORE:
		return "they are from before tracking began";
	case MW_MISSING_PAUSED:
		return "tracking was paused for a while";
	default:
		return "the tracker had no memory for them";
	}
}
