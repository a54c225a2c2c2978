/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "locate.h"

#include "tracker/table/closes.h"

uint32_t mw_locate_native_miss(struct mw_shard *t, uintptr_t caller)
{
	struct mw_caller_time when;
	uint32_t id;

	mw_callsites_maintain(); /* first: a sweep may retire a location that isn't counted yet */
	when = mw_caller_time(caller);
	id = mw_callsite_native(caller);
	/* not cached: a full table may have room later, and a library that closes goes away */
	if (id != MW_CS_OTHER && !mw_closing())
		mw_caller_remember(t, caller, id, when);
	return id;
}
