/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * admit.c - the end of malloc, calloc, realloc and their relatives, one function for each mode. All
 * of them share it, so that it takes few lines of the instruction cache. These functions call
 * nothing, and save no registers.
 */
#include "admit.h"
#include "shared.h"

#define HOT __attribute__((hot, nonnull(2)))

/* Something isn't at hand, or the permit is an old one. */
static __attribute__((noinline)) void *admit_none(struct mw_guard in, void *p, size_t n,
						  uintptr_t caller, uint32_t known)
{
	if (mw_unlikely(!mw_permit_is(known, &mw_permit))) {
		mw_leave_as(in, known);
		return mw_admit_shared(p, n, caller);
	}
	return mw_admit_cold(in, p, n, caller);
}

void *mw_admit_ruby(struct mw_guard in, void *p, size_t n, uintptr_t caller)
{
	void *q = mw_admit_fast(in, p, n, MW_MODE_RUBY, 0);

	return mw_likely(q != NULL) ? q : admit_none(in, p, n, caller, mw_get(&in.t->known));
}

HOT static void *admit_bytes(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known)
{
	void *q;

	if (mw_unlikely(!mw_permit_is(known, &mw_permit_bytes)))
		return admit_none(in, p, n, caller, known);
	q = mw_admit_fast(in, p, n, MW_MODE_BYTES, caller);
	return mw_likely(q != NULL) ? q : admit_none(in, p, n, caller, mw_get(&in.t->known));
}

HOT static void *admit_class_ruby(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known)
{
	size_t usable;
	void *q = NULL;

	if (mw_unlikely(!mw_permit_is(known, &mw_permit_class_ruby)))
		return admit_none(in, p, n, caller, known);
	if (mw_likely(mw_class_usable(n, &usable)))
		q = mw_admit_room(in, p, n, usable, MW_MODE_RUBY, 0);
	return mw_likely(q != NULL) ? q : admit_none(in, p, n, caller, mw_get(&in.t->known));
}

HOT static void *admit_class_bytes(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known)
{
	size_t usable;
	void *q = NULL;

	if (mw_unlikely(!mw_permit_is(known, &mw_permit_class_bytes)))
		return admit_none(in, p, n, caller, known);
	if (mw_likely(mw_class_usable(n, &usable)))
		q = mw_admit_room(in, p, n, usable, MW_MODE_BYTES, caller);
	return mw_likely(q != NULL) ? q : admit_none(in, p, n, caller, mw_get(&in.t->known));
}

mw_admit_fn *mw_admit_other = admit_none;

void mw_admit_other_choose(enum mw_mode mode)
{
	mw_admit_fn *f = mode == MW_MODE_CLASS_RUBY  ? admit_class_ruby :
			 mode == MW_MODE_CLASS_BYTES ? admit_class_bytes :
			 mode == MW_MODE_BYTES       ? admit_bytes :
						       admit_none;

	mw_set(&mw_admit_other, f);
}
