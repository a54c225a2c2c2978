/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_sums.c - live bytes by id, without names; see snapshot.h. */
#include "snapshot.h"

_Static_assert(sizeof(struct mw_live_sum) <= sizeof(struct mw_sum), "they take the sums' memory");

/*
 * The sums are turned into live bytes where they are. A result is smaller than a sum, and the sums
 * before it have been read.
 */
bool mw_live_sums_take(struct mw_live_sums *out)
{
	struct mw_sum *sums;
	struct mw_live_sum *v;
	uint32_t end;

	*out = (struct mw_live_sums){ 0 };
	mw_reading_lock(); /* keeps each id's tenant */
	sums = mw_sums(&end);
	if (!sums) {
		mw_reading_unlock();
		return false;
	}
	/* a retired tenant had as many bytes freed as allocated: what is left is the present one's */
	for (uint32_t id = 1; id < end; id++)
		sums[id].c.bytes = mw_sum_live(&sums[id]);
	for (uint32_t id = 1; id < end; id++) {
		uint32_t shown = mw_callsite_shown(id);

		if (shown >= end) /* found since the sums were taken */
			shown = MW_CS_UNKNOWN;
		if (shown == id || mw_get(&mw_callsite(id)->kind) == MW_CS_FREE)
			continue;
		sums[shown].c.bytes += sums[id].c.bytes;
		sums[id].c.bytes = 0;
	}
	v = (struct mw_live_sum *)(void *)sums;
	for (uint32_t id = 1; id < end; id++)
		v[id] = (struct mw_live_sum){ .bytes = sums[id].c.bytes,
					      .stamp = mw_get(&mw_callsite(id)->since) };
	v[0] = (struct mw_live_sum){ 0 };
	mw_reading_unlock();
	*out = (struct mw_live_sums){ .end = end, .v = v, .size = end * sizeof(*sums) };
	return true;
}

void mw_live_sums_free(struct mw_live_sums *s)
{
	mw_arena_return(s->v, s->size);
	*s = (struct mw_live_sums){ 0 };
}
