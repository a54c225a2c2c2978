/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "generation.h"

struct mw_clock mw_clock = { .now = &mw_clock.still, .in_bytes = true };
uint64_t mw_clock_bytes __attribute__((aligned(64))) = MW_CLOCK_STEP;
