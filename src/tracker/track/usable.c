/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "usable.h"

#include "overrun.h"
#include "tracker/base/noticed.h"
#include "tracker/real/own_blocks.h"
#include "tracker/real/real.h"
#include "tracker/table/tail.h"
#include "track.h"

/* Looks at everything. */
static __attribute__((hot, noinline)) size_t asked(void *p)
{
	size_t n;

	if (!p)
		return 0;
	if (mw_own_is(p))
		return mw_own_size(p) - MW_OWN_TAIL;
	if (!mw_class_plain) {
		n = mw_usable(p);
		if (mw_life == MW_OFF)
			return n;
	} else {
		n = mw_real.malloc_usable_size(p);
		if (mw_unlikely(n < MW_TAIL)) /* another allocator's block, or it isn't known yet */
			return n;
		mw_class_learn(p, n);
	}
	if (mw_unlikely(mw_goes_beside(n)) && mw_real_classes && mw_tailless(p, n))
		return n;
	if (mw_get(&mw_unseen) && !mw_tail_leads(p, n))
		return n;
	return n - MW_TAIL;
}

/* *n: a block's room without its tail, with classes, by a guess. False: it doesn't hold. */
MW_INLINE bool room_guessed(const void *p, size_t *n)
{
	struct mw_class_guess g;
	const struct mw_record *r;

	if (mw_unlikely(!mw_class_guess(p, &g)))
		return false;
	r = mw_record_guess(mw_tail_read_at(p, g.tail));
	/* code's blocks go the other way, too */
	if (mw_unlikely(mw_record_id(mw_record_guess_where(r), p) >= MW_CODE ||
			!mw_class_agrees(&g, r->size)))
		return false;
	*n = g.tail;
	return true;
}

/* On an allocator with size classes. */
MW_ROW(14) static size_t by_class(void *p)
{
	size_t n;

	return mw_likely(p && room_guessed(p, &n)) ? n : asked(p);
}

/* While allocations are sampled: no block has a tail. */
static size_t tailless(void *p)
{
	if (!p)
		return 0;
	return mw_own_is(p) ? mw_own_size(p) - MW_OWN_TAIL : mw_real.malloc_usable_size(p);
}

/* On glibc, if some blocks are from before the start, and none has an old tail. */
static size_t some_tailless(void *p)
{
	size_t n;

	if (mw_likely(p && mw_chunk_plain(p, &n)))
		return mw_tail_checks(p, n) ? n - MW_TAIL : n;
	return asked(p);
}

mw_usable_fn *mw_usable_other = asked;

void mw_usable_choose(bool tails)
{
	bool some = mw_real_glibc && mw_get(&mw_unseen) && !mw_get(&mw_tails_old);
	mw_usable_fn *f = tails ? (mw_real_classes ? by_class :
				   some            ? some_tailless :
						     asked) :
				  (mw_get(&mw_sampled) ? tailless : asked);

	mw_set(&mw_usable_other, f);
}
