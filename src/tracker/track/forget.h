/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forget.h - what was live when tracking stopped may be gone when it starts again. */
#pragma once

#include <stdbool.h>

/*
 * Counts every live block as freed, and makes all cached callers stale: the free of any block, or of
 * any code, may have gone past the hooks. No call leads to a hook, but the app may have copied a hook's
 * address: such calls pass through meanwhile, uncounted. In a thread that has its
 * state. False: a thread is within the tracker and doesn't get on, and nothing is changed.
 */
bool mw_forget_live(void);
