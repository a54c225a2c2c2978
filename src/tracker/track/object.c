/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "object.h"

#include "tracker/caller/locate.h"
#include "tracker/caller/ruby/state.h"
#include "tracker/table/objects.h"

uint32_t mw_object_here(void)
{
	struct mw_shard *t = mw_ruby_above->thread();
	uint32_t id;

	if (!t)
		return MW_ID_NOWHERE;
	MW_GUARD(t);
	id = mw_ruby_locate(t);
	if (id != MW_CS_NONE)
		mw_object_hold(id); /* before the thread leaves: nobody retires it meanwhile */
	return id;
}
