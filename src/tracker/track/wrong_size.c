/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wrong_size.h"

#include "tracker/real/own_blocks.h"
#include "tracker/table/faults.h"
#include "tracker/table/record_of.h"
#include "dismiss.h"
#include "sampled.h"

static void note_wrong_size(uint32_t id, uint64_t asked, uint64_t given)
{
	struct mw_overruns *o;

	id = mw_callsite_real(id);
	mw_add(&mw_strays.wrong_sizes, 1);
	o = mw_wrong_sizes_add(id, asked, given);
	if (o)
		mw_stray_say(&o->said_size, mw_get(&o->wrong_sizes), id, asked, "was freed as one of",
			     &given);
}

void mw_wrong_size_look(const void *p, size_t n)
{
	uint32_t late;
	struct mw_record *r;
	uint64_t asked;
	size_t usable;

	if (!mw_is_on() || mw_own_is(p) || mw_get(&mw_sampled))
		return;
	usable = mw_usable(p);
	if (usable < MW_TAIL || !mw_ref_of(p, usable, &r))
		return;
	asked = mw_size_decode(mw_get(&r->size));
	if (asked == n)
		return;
	late = mw_late_enter(); /* the block is still counted: its location stays */
	note_wrong_size((uint32_t)mw_get(&r->where) & MW_CS_MASK, asked, n);
	mw_late_leave(late);
}
