/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forget.h - all live blocks at once, while no thread goes the fast way. */
#pragma once

#include <stdbool.h>

struct mw_dismissed;
struct mw_shard;

/*
 * Calls `each` for each live block: *d has its record, `where` and size. It may hide the record (mw_hide_once), since the
 * block may be freed meanwhile. Makes all cached callers stale. Other threads' frees are counted meanwhile, their
 * allocations aren't. `last` is called before they come in again; it may be NULL. In a thread that has its state, in quiet
 * or not; takes mw_rebasing_lock. False: a thread is within the tracker and doesn't get on, and nothing is changed.
 */
bool mw_each_alone(void (*each)(struct mw_shard *t, const void *p, struct mw_dismissed *),
		   void (*last)(void));
/*
 * Counts every live block as freed: what was live when tracking stopped may be gone when it starts again. No call
 * leads to a hook then, but the app may have copied a hook's address.
 */
bool mw_forget_live(void);
