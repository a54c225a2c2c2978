/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usable.h - malloc_usable_size (3) where the test for glibc's usual blocks fails (hooks/malloc.c).
 *
 * The answer is the room without the tail, which isn't the app's. A little less than the real room is right, less than
 * was asked for isn't. The blocks that have a tail rarely change, nor does the way to find their room. So each case has a
 * function of its own, and one of them is chosen. Each is right for any block; they differ in what they look at first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/sys/compiler.h"

typedef size_t mw_usable_fn(void *p);
/* Relaxed. */
extern MW_HOT_STRUCT mw_usable_fn *mw_usable_other;
/* For mw_tails_expect (track.h). tails: each block that is allocated gets one. */
void mw_usable_choose(bool tails);
