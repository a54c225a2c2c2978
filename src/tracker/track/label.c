/* SPDX-License-Identifier: GPL-2.0-or-later */
/* label.c - the label of the calling thread: table/labels.h. */
#include "tracker/table/shard.h"
#include "track.h"

uint32_t mw_label_set(uint32_t label)
{
	struct mw_shard *t = mw_state();
	uint32_t before;

	if (!t && label)
		t = mw_shard_now();
	if (!t)
		return 0;
	before = t->label;
	t->label = (uint16_t)label;
	return before;
}
