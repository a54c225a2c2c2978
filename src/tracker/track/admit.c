/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * admit.c - the end of malloc, calloc, realloc and their relatives, one function for each mode. All
 * of them share it, so that it takes few lines of the instruction cache. These functions call
 * nothing, and save no registers.
 */
#include "admit.h"
#include "clocked.h"
#include "shared.h"
#include "tracker/real/musl.h"

#define HOT __attribute__((hot, nonnull(2)))

/* Of a thread that carried MW_PERMIT_CLOCKED. */
__attribute__((cold, noinline)) static void *admit_clocked(struct mw_guard in, void *p, size_t n,
							   uintptr_t caller)
{
	struct mw_shard *t = in.t;
	struct mw_clocked_call c;

	mw_leave(in);
	mw_clocked_begin(&c);
	p = mw_admit_new(p, n, caller);
	mw_clocked_end(t, &c, false);
	return p;
}

__attribute__((noinline)) void *mw_admit_none(struct mw_guard in, void *p, size_t n, uintptr_t caller,
					      uint32_t known)
{
	if (mw_unlikely(!mw_permit_is(known, &mw_permit))) {
		if (known == MW_PERMIT_CLOCKED)
			return admit_clocked(in, p, n, caller);
		mw_leave_as(in, known);
		return mw_admit_shared(p, n, caller);
	}
	return mw_admit_cold(in, p, n, caller, MW_OP_MALLOC, 0);
}

void *mw_admit_ruby(struct mw_guard in, void *p, size_t n, uintptr_t caller)
{
	void *q = mw_admit_fast(in, p, n, MW_MODE_RUBY, 0);

	return mw_likely(q != NULL) ? q : mw_admit_none(in, p, n, caller, mw_get(&in.t->known));
}

HOT static void *admit_bytes(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known)
{
	void *q;

	if (mw_unlikely(!mw_permit_is(known, &mw_permit_bytes)))
		return mw_admit_none(in, p, n, caller, known);
	q = mw_admit_fast(in, p, n, MW_MODE_BYTES, caller);
	return mw_likely(q != NULL) ? q : mw_admit_none(in, p, n, caller, mw_get(&in.t->known));
}

MW_ROW(16) static mw_admit_fn admit_class_ruby;

/* With classes, and on musl. room_known: sets usable. */
#define ADMIT(name, permit, mode, caller_if, room_known)                                                 \
	HOT static void *name(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known)   \
	{                                                                                                \
		size_t usable;                                                                           \
		void *q = NULL;                                                                          \
		if (mw_unlikely(!mw_permit_is(known, &(permit))))                                        \
			return mw_admit_none(in, p, n, caller, known);                                   \
		if (mw_likely(room_known))                                                               \
			q = mw_admit_room(in, p, n, usable, mode, caller_if);                            \
		return mw_likely(q != NULL) ? q : mw_admit_none(in, p, n, caller, mw_get(&in.t->known)); \
	}
ADMIT(admit_class_ruby, mw_permit_class_ruby, MW_MODE_RUBY, 0, mw_class_usable(n, &usable))
ADMIT(admit_class_bytes, mw_permit_class_bytes, MW_MODE_BYTES, caller, mw_class_usable(n, &usable))
ADMIT(admit_musl_ruby, mw_permit_class_ruby, MW_MODE_RUBY, 0, mw_musl_usable(n, &usable))
/* Beside a JIT: without one mw_admit_ruby does. */
ADMIT(admit_ruby, mw_permit_ruby.ruby, MW_MODE_RUBY, 0, mw_chunk_plain(p, &usable))
ADMIT(admit_musl_bytes, mw_permit_class_bytes, MW_MODE_BYTES, caller, mw_musl_usable(n, &usable))

/* --- with callers: the diagnostic bt, apart from the hot ones --------------------------------- */

/* As mw_admit_room, at an entry that was found, or NULL. */
MW_INLINE void *admit_at(struct mw_guard in, void *p, size_t n, size_t usable, struct mw_caller *w)
{
	uint32_t ref;

	if (mw_unlikely(!mw_admit_with(in.t, p, n, usable, w, mw_generation_read(), &ref)))
		return NULL;
	if (mw_unlikely(mw_sink(&in.t->step, (uint32_t)n)))
		return mw_admit_step(in, p);
	mw_leave_as(in, mw_get(&in.t->known));
	return p;
}

/* The walk so far takes no memory on its way here: its end is found again. */
static __attribute__((noinline)) void *admit_chain_further(
	struct mw_guard in, void *p, size_t n, uintptr_t caller, uint64_t hash, const char *cfp)
{
	struct mw_chain_walk walk = { hash, cfp, cfp ? mw_ruby_ec_end(mw_ruby_ec()) : NULL };
	struct mw_caller *w = mw_chain_further(in.t, &walk);
	size_t usable;
	void *q = NULL;

	if (mw_likely(w && mw_chunk_plain(p, &usable)))
		q = admit_at(in, p, n, usable, w);
	return mw_likely(q != NULL) ? q : mw_admit_none(in, p, n, caller, mw_get(&in.t->known));
}

static void *admit_chain(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known)
{
	struct mw_chain_walk walk;
	struct mw_caller *w;
	size_t usable;
	void *q = NULL;

	if (mw_unlikely(!mw_permit_is(known, &mw_permit_ruby.ruby)))
		return mw_admit_none(in, p, n, caller, known);
	w = mw_chain_first(in.t, &walk); /* first: fewer values have to be kept */
	if (mw_unlikely(!w))
		return admit_chain_further(in, p, n, caller, walk.hash, walk.cfp);
	if (mw_likely(mw_chunk_plain(p, &usable)))
		q = admit_at(in, p, n, usable, w);
	return mw_likely(q != NULL) ? q : mw_admit_none(in, p, n, caller, mw_get(&in.t->known));
}

static void *admit_class_chain(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known)
{
	struct mw_chain_walk walk;
	struct mw_caller *w;
	size_t usable;
	void *q = NULL;

	if (mw_unlikely(!mw_permit_is(known, &mw_permit_class_ruby)))
		return mw_admit_none(in, p, n, caller, known);
	w = mw_chain_first(in.t, &walk);
	if (mw_unlikely(!w))
		w = mw_chain_further(in.t, &walk);
	if (mw_likely(w && (mw_real_musl_plain ? mw_musl_usable(n, &usable) : mw_class_usable(n, &usable))))
		q = admit_at(in, p, n, usable, w);
	return mw_likely(q != NULL) ? q : mw_admit_none(in, p, n, caller, mw_get(&in.t->known));
}

/* --- beside a JIT, whose own blocks go the cold way: jit_code.h --------------------------------- */

#define BESIDE_JIT(name, plain)                                                                        \
	static __attribute__((noinline)) void *name##_elsewhere(struct mw_guard in, void *p, size_t n, \
								uintptr_t caller, uint32_t known)      \
	{                                                                                              \
		return (mw_jit_code_has(caller) ? mw_admit_none : (plain))(in, p, n, caller, known);   \
	}                                                                                              \
	static void *name(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known)     \
	{                                                                                              \
		return mw_likely(mw_code_has(&mw_jit_code.c, caller)) ?                                \
			       (plain)(in, p, n, caller, known) :                                      \
			       name##_elsewhere(in, p, n, caller, known);                              \
	}
BESIDE_JIT(admit_ruby_jit, admit_ruby)
BESIDE_JIT(admit_class_ruby_jit, admit_class_ruby)
BESIDE_JIT(admit_musl_ruby_jit, admit_musl_ruby)
BESIDE_JIT(admit_chain_jit, admit_chain)
BESIDE_JIT(admit_class_chain_jit, admit_class_chain)

mw_admit_fn *mw_admit_other = mw_admit_none;

/* Of the modes with Ruby. jit_apart: compilers' blocks don't count at a line. */
static mw_admit_fn *of_lines(enum mw_mode mode, bool with_callers, bool jit_apart)
{
	if (with_callers && mode == MW_MODE_RUBY)
		return jit_apart ? admit_chain_jit : admit_chain;
	if (with_callers)
		return jit_apart ? admit_class_chain_jit : admit_class_chain;
	if (mode == MW_MODE_RUBY)
		return jit_apart ? admit_ruby_jit : mw_admit_none;
	if (mw_real_musl_plain)
		return jit_apart ? admit_musl_ruby_jit : admit_musl_ruby;
	return jit_apart ? admit_class_ruby_jit : admit_class_ruby;
}

void mw_admit_other_choose(enum mw_mode mode, bool with_callers, bool jit_apart)
{
	bool ruby = mode == MW_MODE_RUBY || mode == MW_MODE_CLASS_RUBY;
	mw_admit_fn *recorded = mw_get(&mw_events_on) ? mw_admit_recorded(mode, with_callers) : NULL;
	mw_admit_fn *f =
		mw_get(&mw_ruby.how) == MW_RUBY_JIT ? NULL :
		mw_get(&mw_events_on)               ? recorded :
		ruby                                ? of_lines(mode, with_callers, jit_apart) :
		mode == MW_MODE_CLASS_BYTES ? (mw_real_musl_plain ? admit_musl_bytes : admit_class_bytes) :
		mode == MW_MODE_BYTES ? admit_bytes :
					mw_admit_none;

	mw_set(&mw_admit_other, f ? f : mw_admit_none);
}
