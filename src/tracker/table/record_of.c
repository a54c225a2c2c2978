/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record_of.h"

#include "tail.h"

bool mw_ref_leads(uint32_t ref, const void *p, struct mw_record **r)
{
	*r = mw_record_guess(ref);
	return ref && mw_record_is(mw_record_guess_where(*r), p);
}

uint32_t mw_ref_of(const void *p, size_t usable, struct mw_record **r)
{
	uint32_t tail = mw_tail_read(p, usable), ref;
	/* without a tail the last bytes are the app's, and lead to memory that nobody has read lately: so it comes last */
	bool checks = mw_tail_checks(p, usable);

	if (mw_likely(checks) && mw_ref_leads(tail, p, r))
		return tail;
	if (mw_real_classes && mw_goes_beside(usable)) {
		ref = mw_side_index_get(p, usable);
		if (ref < MW_REF_END && mw_ref_leads(ref, p, r))
			return ref;
	}
	return !checks && mw_ref_leads(tail, p, r) ? tail : 0;
}
