/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forget.h - all live blocks at once, while no thread is inside the tracker. */
#pragma once

#include <stdbool.h>

struct mw_dismissed;
struct mw_shard;

/*
 * Hides the record of each live block, and calls `each` for it, which counts the block as gone or unhides it
 * (dismiss.h). Makes all cached callers stale. Calls of other threads pass through meanwhile, uncounted. `last` is
 * called before they come in again; it may be NULL. In a thread that has its state, in quiet or not; takes
 * mw_rebasing_lock. False: a thread is within the tracker and doesn't get on, and nothing is changed.
 */
bool mw_each_alone(void (*each)(struct mw_shard *t, const void *p, struct mw_dismissed *),
		   void (*last)(void));
/*
 * Counts every live block as freed: what was live when tracking stopped may be gone when it starts again. No call
 * leads to a hook then, but the app may have copied a hook's address.
 */
bool mw_forget_live(void);
