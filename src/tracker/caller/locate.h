/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locate.h - finds the location of a call.
 *
 * In Ruby code, it is the line of the innermost Ruby frame, found by the frame's pc. The option bt
 * adds the line's callers (chain.h). Elsewhere it is the native caller. frame.h says how that works,
 * and when to trust it. The thread's caller cache has both, so the usual answer takes a handful of
 * loads. The calling thread is busy.
 */
#pragma once

#include <stdint.h>

#include "tracker/table/shard.h"
#include "tracker/table/caller_cache.h"
#include "tracker/caller/ruby/chain.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/caller/ruby/jit_code.h"

/* A miss: finds the location, and caches it. */
uint32_t mw_locate_native_miss(struct mw_shard *t, uintptr_t caller);

static inline uint32_t mw_locate_native(struct mw_shard *t, uintptr_t caller)
{
	uint32_t id = mw_caller_recall(t, caller);

	return mw_likely(id != MW_CS_NONE) ? id : mw_locate_native_miss(t, caller);
}

/* Never MW_CS_NONE. */
static inline uint32_t mw_locate(struct mw_shard *t, uintptr_t caller)
{
	uint32_t id = MW_CS_NONE;

	if (mw_jit_compiles(caller))
		return MW_CS_JIT;
	if (mw_get(&mw_ruby.how) != MW_RUBY_NONE)
		id = mw_ruby_locate(t);
	if (id == MW_CS_NONE && mw_get(&mw_ruby.how) == MW_RUBY_STARTING && mw_ruby_has(caller))
		return MW_CS_STARTING;
	return id != MW_CS_NONE ? id : mw_locate_native(t, caller);
}

/* The frame's pc; 0: a C function's frame. Neither word alone is enough: blocks of C functions have
   an iseq that is none, and YJIT leaves a stale pc in the frames of C functions. */
MW_INLINE uintptr_t mw_ruby_frame_pc(const char *cfp)
{
	return mw_likely(MW_AT(uintptr_t, cfp, MW_CFP_ISEQ) != 0) ? MW_AT(uintptr_t, cfp, MW_CFP_PC) : 0;
}

/*
 * The pc of the innermost frame that runs Ruby code; 0: none does. A thread that begins or ends has
 * no stack: Ruby sets both words to NULL then, and the stack's first, which is compared. Ruby's
 * own marking trusts the frames no more than this. The end matters only beyond the innermost frame.
 */
MW_INLINE uintptr_t mw_ruby_pc(const char *ec)
{
	const char *cfp = MW_AT(const char *, ec, MW_EC_CFP), *end;
	uintptr_t pc;

	if (mw_unlikely(cfp <= MW_AT(const char *, ec, MW_EC_STACK)))
		return 0;
	pc = mw_ruby_frame_pc(cfp);
	if (pc)
		return pc;
	end = mw_ruby_ec_end(ec);
	while (!pc && (cfp += mw_ruby.frame_size) < end)
		pc = mw_ruby_frame_pc(cfp);
	return pc;
}

/* For MW_RUBY_FAST alone: the pc of the Ruby code that is running, or 0. */
MW_INLINE uintptr_t mw_ruby_pc_now(void)
{
	const char *ec = mw_ruby_ec();

	return mw_likely(ec != NULL) ? mw_ruby_pc(ec) : 0;
}

/* The entry of a pc or a native caller, which may say that its frame is to be skipped; NULL: none is valid. */
static inline struct mw_caller *mw_locate_cached(struct mw_shard *t, uintptr_t pc)
{
	struct mw_caller *w = mw_caller_place(t, pc);

	if (mw_likely((w->pc | 1) == (pc | 1) && mw_says(&mw_code_changes, w->changes)))
		return w;
	w = mw_caller_in_second(t, pc);
	return w ? w : mw_caller_valid_at(t, pc, mw_caller_time(pc));
}

/*
 * The entry of the innermost frame that isn't to be skipped, or of the caller if no Ruby code runs; NULL: something isn't
 * cached. A file that is being loaded is compiled within require, which is <internal:...>: these are most of an app's
 * allocations at its start.
 */
static inline struct mw_caller *mw_locate_line(struct mw_shard *t, uintptr_t caller)
{
	const char *ec = mw_ruby_ec(), *cfp = ec ? MW_AT(const char *, ec, MW_EC_CFP) : NULL, *end;
	const char *const innermost = cfp;
	struct mw_caller *w;
	uintptr_t own;
	bool runs = false;

	if (!ec || cfp <= MW_AT(const char *, ec, MW_EC_STACK)) /* see mw_ruby_pc */
		return mw_locate_cached(t, caller);
	for (end = mw_ruby_ec_end(ec); cfp < end; cfp += mw_ruby.frame_size) {
		uintptr_t pc = mw_ruby_frame_pc(cfp);

		if (!pc)
			continue;
		runs = true;
		w = mw_locate_cached(t, pc);
		if (!w || w->id != MW_CALLER_SKIP)
			return w;
	}
	own = runs && mw_get(&mw_ruby_starts) ? mw_ruby_own_key(innermost, end) : 0;
	w = own ? mw_locate_cached(t, own) : NULL;
	return runs && !(w && w->id == MW_CALLER_SKIP) ? w : mw_locate_cached(t, caller);
}

/* The caller cache's entry for this call, if it can be found inline; else NULL. */
static inline struct mw_caller *mw_locate_fast(struct mw_shard *t, uintptr_t caller)
{
	uint32_t how = __atomic_load_n(&mw_ruby.how, __ATOMIC_ACQUIRE);
	uintptr_t pc = 0;
	struct mw_caller *w;

	if (mw_jit_compiles(caller))
		return NULL; /* rare beside what a compiler does otherwise */
	if (how == MW_RUBY_FAST && !mw_get(&mw_bt))
		return mw_locate_line(t, caller);
	if (how == MW_RUBY_FAST)
		pc = mw_chain_key(t, mw_get(&mw_bt));
	else if (how != MW_RUBY_NONE && how != MW_RUBY_ENDED)
		return NULL;
	if (!pc)
		pc = caller;
	w = mw_caller_first(t, pc);
	return w ? w : mw_caller_in_second(t, pc);
}

/* Now and then: is the fast answer still the right one? */
static inline void mw_locate_check(struct mw_shard *t)
{
	if (mw_ruby_reads())
		mw_ruby_check(t);
}
