/* SPDX-License-Identifier: GPL-2.0-or-later */
/* missing.h - blocks that may live and aren't known, in words. What is said of all blocks must not be said then. */
#pragma once

#include "api/api.h"

/* "sampled", "before", "paused", "memory"; NULL: all blocks are known */
const char *mw_missing_name(enum mw_missing);
/* Why: "allocations are sampled", behind "since". now: they are. Not for MW_MISSING_NONE. */
const char *mw_missing_why(enum mw_missing, bool now);
