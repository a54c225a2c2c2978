/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracker.c - which tracker the methods call. See ext.h. */
#include "ext.h"

const struct mw_api *mw_tracker = &mw_no_tracker;

void mw_tracker_is(const struct mw_api *api)
{
	mw_tracker = api;
	if (api->extended)
		api->extended();
}
