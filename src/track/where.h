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

static inline uint32_t mw_where_native(struct mw_thread *t, uintptr_t caller)
{
	uint32_t id = mw_where_recall(t, caller);

	return mw_likely(id != MW_CS_NONE) ? id : mw_where_native_miss(t, caller);
}

/* Never MW_CS_NONE. */
static inline uint32_t mw_where(struct mw_thread *t, uintptr_t caller)
{
	uint32_t id = MW_CS_NONE;

	if (mw_get(&mw_ruby.how) != MW_RUBY_NONE)
		id = mw_ruby_where(t);
	return id != MW_CS_NONE ? id : mw_where_native(t, caller);
}

/* 0: a C function's frame. Neither alone tells: blocks of C functions have an
   iseq that is none, and YJIT leaves a stale pc in the frames of C functions. */
MW_INLINE uintptr_t mw_ruby_frame_pc(const char *cfp)
{
	return mw_likely(MW_AT(uintptr_t, cfp, MW_CFP_ISEQ) != 0) ? MW_AT(uintptr_t, cfp, MW_CFP_PC) : 0;
}

/*
 * The pc of the innermost frame that runs Ruby code; 0: none does. A thread
 * that ends may have a stale cfp, and then no stack: looked at first.
 */
MW_INLINE uintptr_t mw_ruby_pc(const char *ec)
{
	const char *cfp = MW_AT(const char *, ec, MW_EC_CFP), *end = mw_ruby_stack_end(ec, cfp);
	uintptr_t pc;

	if (mw_unlikely(!end))
		return 0;
	do {
		pc = mw_ruby_frame_pc(cfp);
	} while (!pc && (cfp += mw_ruby.frame_size) < end);
	return pc;
}

/* The same if that takes no call; else MW_WHERE_SKIP, which no slot has. */
MW_INLINE uint32_t mw_where_at_hand(const struct mw_thread *t, uintptr_t caller)
{
	uint32_t how = __atomic_load_n(&mw_ruby.how, __ATOMIC_ACQUIRE);
	const char *ec;
	uintptr_t pc;

	if (mw_likely(how == MW_RUBY_FAST)) {
		ec = MW_AT(const char *, mw_thread_pointer(), mw_ruby.ec);
		pc = mw_likely(ec != NULL) ? mw_ruby_pc(ec) : 0;
		if (mw_likely(pc != 0))
			caller = pc;
	} else if (mw_unlikely(how != MW_RUBY_NONE && how != MW_RUBY_ENDED)) {
		return MW_WHERE_SKIP;
	}
	return mw_where_at_once(t, caller, MW_WHERE_SKIP);
}

/* Now and then: is the fast answer still the right one? */
static inline void mw_where_check(struct mw_thread *t)
{
	if (mw_get(&mw_ruby.how) == MW_RUBY_FAST)
		mw_ruby_check(t);
}

#endif
