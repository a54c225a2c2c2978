/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "where.h"

uint32_t mw_where_native_miss(struct mw_thread *t, uintptr_t caller)
{
	uint32_t epoch, id;

	mw_callsites_maintain(); /* first: a sweep may retire what we find, as long as it isn't counted */
	epoch = __atomic_load_n(mw_code_page(caller), __ATOMIC_ACQUIRE);
	id = mw_callsite_native(caller);
	/* a full table may have room later: asked again then */
	if (id != MW_CS_OTHER)
		mw_where_remember(t, caller, id, epoch);
	return id;
}
