/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admit.h - counts a new block: every allocating function's step after the real one. */
#pragma once

#include "tracker/caller/locate.h"
#include "events.h"
#include "tracker/real/real.h"
#include "tracker/table/caller_cache.h"
#include "tracker/table/generation.h"
#include "tracker/table/shard.h"
#include "tracker/table/tail.h"
#include "track.h"

/* id: may have MW_CODE set */
MW_INLINE void mw_record_fill(struct mw_record *r, const void *p, uint32_t size, uint32_t id,
			      uint32_t generation)
{
	/* where has room for its address */
	mw_assert((uintptr_t)p % 16 == 0 && (uintptr_t)p >> MW_ADDRESS_BITS == 0);
	mw_assert(mw_get(&r->low) == MW_FREE && (id & MW_CS_MASK));
	mw_set(&r->size, size);
	mw_set(&r->generation, generation);
	__atomic_store_n(&r->where, mw_record_pack(p, id), __ATOMIC_RELEASE);
}

/* cold.c: the same as mw_admit_room, with anything missing. op, extra: of the event, if calls are recorded. */
void *mw_admit_shared_counts(struct mw_guard, void *p, size_t n, uintptr_t caller, uint32_t op,
			     uint64_t extra);
/* The same for n < MW_SIZE_HUGE; finds callers at hand that the fast way doesn't. */
void *mw_admit_cold(struct mw_guard, void *p, size_t n, uintptr_t caller, uint32_t op, uint64_t extra);
/* admit.c: something isn't at hand, or the permit `known` is an old one. Of a malloc. */
void *mw_admit_none(struct mw_guard, void *p, size_t n, uintptr_t caller, uint32_t known);
/* A step ended at p (sample.h). Returns p. */
void *mw_admit_step(struct mw_guard, void *p) __attribute__((returns_nonnull));

/*
 * p has room for n bytes and a tail, n < MW_SIZE_HUGE, and is not NULL;
 * usable: its room. t is busy. False: something isn't at hand (the location
 * with its counters, a free record), and nothing has changed. *ref: the record's. Calls
 * nothing, so the compiler saves few registers.
 */
MW_INLINE bool mw_admit_with(struct mw_shard *t, void *p, size_t n, size_t usable, struct mw_caller *w,
			     uint32_t generation, uint32_t *ref)
{
	struct mw_record *r = t->spare;

	if (mw_unlikely(!w || !r))
		return false;
	*ref = mw_spare_pop(t, r);
	mw_tail_write(p, usable, *ref);
	mw_record_fill(r, p, (uint32_t)n, w->id, generation);
	mw_caller_alloc(w, n);
	return true;
}

/*
 * The same for a thread that entered with t->known, the permit of this mode or of the same one with
 * classes. The mode is a constant: MW_MODE_RUBY or MW_MODE_BYTES. usable: p's room. Returns p, and
 * has left; or NULL, and nothing has changed. Under MW_MODE_RUBY the caller isn't needed: it is 0,
 * since finding it costs something.
 */
MW_INLINE void *mw_admit_room(struct mw_guard in, void *p, size_t n, size_t usable, uint32_t mode,
			      uintptr_t caller)
{
	struct mw_shard *t = in.t;
	bool ruby = mode == MW_MODE_RUBY, done = false;
	uintptr_t pc = caller;
	uint32_t ref;

	if (ruby)
		pc = mw_ruby_pc_now();
	if (mw_likely(!ruby || pc))
		done = mw_admit_with(t, p, n, usable, mw_caller_first(t, pc),
				     ruby ? mw_generation_read() : mw_generation_in_bytes(t), &ref);
	if (mw_unlikely(!done))
		return NULL;
	if (mw_unlikely(ruby ? mw_sink(&t->step, (uint32_t)n) : mw_raise(&t->clock_due, n)))
		return mw_admit_step(in, p);
	mw_leave_as(in, mw_get(&t->known)); /* read here: no register has to keep it */
	return p;
}

/* The same for glibc's blocks. */
MW_INLINE void *mw_admit_fast(struct mw_guard in, void *p, size_t n, uint32_t mode, uintptr_t caller)
{
	size_t usable;

	if (mw_unlikely(!mw_chunk_plain(p, &usable)))
		return NULL;
	return mw_admit_room(in, p, n, usable, mode, caller);
}

/*
 * admit.c: the fast way of MW_MODE_RUBY, and that of the present mode if it is another one. p is new
 * and not NULL, with room for n bytes and a tail; n <= INT32_MAX. The thread carried the permit
 * `known`. They return p, and have left. Relaxed: each function asks whether `known` is of its mode,
 * and does without if not.
 */
typedef void *mw_admit_fn(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known);
MW_ROW(10)
MW_LINE __attribute__((nonnull(2), returns_nonnull)) void *mw_admit_ruby(struct mw_guard in, void *p,
									 size_t n, uintptr_t caller);
extern MW_HOT_STRUCT mw_admit_fn *mw_admit_other;
/* jit_apart: compilers' blocks have a location of their own (jit_code.h). */
void mw_admit_other_choose(enum mw_mode, bool with_callers, bool jit_apart);
/* recorded.c: the same while calls are recorded; NULL: mw_admit_none will do. */
mw_admit_fn *mw_admit_recorded(enum mw_mode, bool with_callers);

/*
 * The last step of malloc, calloc and `new`, by a tail call, and of realloc on glibc: p is a block that
 * the allocator cuts for mw_padded(n), as the table of classes says. Any thread.
 */
MW_INLINE void *mw_admit_new(void *p, size_t n, uintptr_t caller)
{
	uint32_t known;
	struct mw_guard in = mw_enter_carrying(mw_self, &known);

	if (mw_likely(mw_permit_is(known, &mw_permit_ruby.line)))
		return mw_admit_ruby(in, p, n, caller);
	return mw_admit_other(in, p, n, caller, known);
}

/* shared.c: the thread may no longer go on as it could when p was asked for. Returns p. */
void *mw_admit_again(void *p, size_t n, uintptr_t caller, uint32_t op, uint64_t extra);

/* The same for any n and any block; t is the thread's, which could go on. op, extra: of the event. */
static inline void *mw_admit(struct mw_shard *t, void *p, size_t n, uintptr_t caller, uint32_t op,
			     uint64_t extra)
{
	struct mw_guard in = mw_enter(t);

	if (mw_unlikely(!mw_permit_is(t->known, &mw_permit))) {
		mw_leave(in);
		return mw_admit_again(p, n, caller, op, extra);
	}
	return n < MW_SIZE_HUGE ? mw_admit_cold(in, p, n, caller, op, extra) :
				  mw_admit_shared_counts(in, p, n, caller, op, extra);
}

/* Keeps a huge size off the fast way of free: the size must be released then. */
static inline uint32_t mw_flag_of(uint32_t size)
{
	return size >= MW_SIZE_HUGE ? (uint32_t)MW_CODE : 0;
}
