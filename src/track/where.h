/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * where.h - which location is this call at?
 *
 * In Ruby code, the line of the innermost Ruby frame, found by the frame's
 * pc (ruby.h says how and when that is to be trusted); else the native
 * caller. Both are remembered per thread, so the usual answer takes a
 * handful of loads. The caller is busy.
 */
#ifndef MW_TRACK_WHERE_H
#define MW_TRACK_WHERE_H

#include <stdint.h>

#include "../table/thread.h"
#include "../table/where_cache.h"
#include "ruby.h"

/* Misses: find out, remember. */
uint32_t mw_where_native_miss(struct mw_thread *t, uintptr_t caller);

MW_INLINE uint32_t mw_where_native(struct mw_thread *t, uintptr_t caller)
{
	uint32_t id = mw_where_recall(t, caller);

	return mw_likely(id != MW_CS_NONE) ? id : mw_where_native_miss(t, caller);
}

MW_INLINE uint32_t mw_where(struct mw_thread *t, uintptr_t caller)
{
	uint32_t id = MW_CS_NONE;

	if (mw_get(&mw_ruby.how) != MW_RUBY_NONE)
		id = mw_ruby_where(t);
	return id != MW_CS_NONE ? id : mw_where_native(t, caller);
}

/* Now and then: is the fast answer still the right one? */
static inline void mw_where_check(struct mw_thread *t)
{
	if (mw_get(&mw_ruby.how) == MW_RUBY_FAST)
		mw_ruby_check(t);
}

#endif
