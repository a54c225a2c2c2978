/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wrong_size.h"

#include "tracker/real/own_blocks.h"
#include "tracker/table/faults.h"
#include "dismiss.h"
#include "sampled.h"

/* p's record; NULL: it has none, or its tail was written over. */
static const struct mw_record *record_of(const void *p)
{
	size_t usable = mw_usable(p);
	struct mw_record *r;
	uint32_t ref;

	if (usable < MW_TAIL)
		return NULL;
	if (mw_tail_checks(p, usable) && mw_ref_leads(mw_tail_read(p, usable), p, &r))
		return r;
	ref = mw_real_classes ? mw_side_index_get(p, usable) : MW_REF_END;
	return ref < MW_REF_END && mw_ref_leads(ref, p, &r) ? r : NULL;
}

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
	const struct mw_record *r;
	uint64_t asked;

	if (!mw_is_on() || mw_own_is(p) || mw_get(&mw_sampled))
		return;
	r = record_of(p);
	if (!r)
		return;
	asked = mw_size_decode(mw_get(&r->size));
	if (asked == n)
		return;
	late = mw_late_enter(); /* the block is still counted: its location stays */
	note_wrong_size((uint32_t)mw_get(&r->where) & MW_CS_MASK, asked, n);
	mw_late_leave(late);
}
