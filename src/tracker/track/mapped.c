/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapped.h"

#include <errno.h>

#include "tracker/caller/locate.h"
#include "tracker/real/real.h"
#include "track.h"

bool mw_track_notes(uintptr_t caller)
{
	if (caller - mw_allocator_start < mw_allocator_bytes || mw_get(&mw_life) != MW_ON ||
	    mw_get(&mw_paused))
		return false;
	/* as mw_permitted, but a thread without a state gets none here */
	return mw_get(&mw_self->permit) == __atomic_load_n(&mw_permit, __ATOMIC_ACQUIRE);
}

void mw_track_mapped(uintptr_t p, size_t n, uintptr_t caller)
{
	struct mw_shard *t = mw_self;
	int e = errno;

	{
		MW_GUARD(t);
		mw_mapping_gone(p, n); /* MAP_FIXED, or what mremap left */
		mw_mapping_add(p, n, mw_locate(t, caller));
	}
	errno = e;
}
