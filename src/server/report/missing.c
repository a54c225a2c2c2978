/* SPDX-License-Identifier: GPL-2.0-or-later */
/* missing.c - see missing.h. */
#include "missing.h"

const char *mw_missing_name(enum mw_missing m)
{
	static const char *const names[] = { [MW_MISSING_SAMPLED] = "sampled",
					     [MW_MISSING_ONCE] = "sampled",
					     [MW_MISSING_BEFORE] = "before",
					     [MW_MISSING_PAUSED] = "paused",
					     [MW_MISSING_MEMORY] = "memory" };

	return names[m];
}

const char *mw_missing_why(enum mw_missing m)
{
	static const char *const whys[] = { [MW_MISSING_SAMPLED] = "allocations are sampled",
					    [MW_MISSING_ONCE] = "allocations were sampled for a while",
					    [MW_MISSING_BEFORE] = "they are from before tracking began",
					    [MW_MISSING_PAUSED] = "tracking was paused for a while",
					    [MW_MISSING_MEMORY] = "the tracker had no memory for them" };

	return whys[m];
}
