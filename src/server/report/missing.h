/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * missing.h - why the tracker doesn't know all live blocks, in words. If it doesn't, no page may say anything of all
 * blocks.
 */
#pragma once

#include "api/api.h"

/* "sampled", "before", "paused", "memory"; NULL: all blocks are known */
const char *mw_missing_name(enum mw_missing);
/* Why: "allocations are sampled", behind "since". Not for MW_MISSING_NONE. */
const char *mw_missing_why(enum mw_missing);
