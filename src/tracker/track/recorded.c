/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorded.c - malloc, free and realloc in each mode while calls are recorded: the same steps as in admit.c
 * and dismiss.c, and an event. A call that needs more goes on to the cold functions, which emit its event.
 */
#include "admit.h"
#include "dismiss.h"
#include "tracker/real/musl.h"

#define HOT __attribute__((hot, nonnull(2)))

/* Is the permit `known` the present one, of this mode? */
MW_INLINE bool permit_is_of(uint32_t known, enum mw_mode mode)
{
	return mw_permit_is(known, &mw_permit) && (known & MW_PERMIT_MODE) == mode;
}

/* As mw_admit_room. */
MW_INLINE void *room(struct mw_guard in, void *p, size_t n, size_t usable, uint32_t mode, uintptr_t caller)
{
	struct mw_shard *t = in.t;
	bool ruby = mode == MW_MODE_RUBY;
	uintptr_t pc = ruby ? mw_ruby_pc_now() : caller;
	struct mw_caller *w;
	uint32_t ref;

	if (mw_unlikely(!pc || (ruby && mw_jit_compiles(caller))))
		return NULL;
	w = mw_caller_first(t, pc);
	if (mw_unlikely(!mw_admit_with(t, p, n, usable, w,
				       ruby ? mw_generation_read() : mw_generation_in_bytes(t), &ref)))
		return NULL;
	mw_event_born(t, ruby, MW_OP_MALLOC, ref, n, w->id);
	if (mw_unlikely(ruby ? mw_sink(&t->step, (uint32_t)n) : mw_raise(&t->clock_due, n)))
		return mw_admit_step(in, p);
	mw_leave_as(in, mw_get(&t->known));
	return p;
}

#define ADMIT(name, of, as, room_known)                                                                \
	HOT static void *name(struct mw_guard in, void *p, size_t n, uintptr_t caller, uint32_t known) \
	{                                                                                              \
		size_t usable;                                                                         \
		void *q = NULL;                                                                        \
		if (mw_likely(permit_is_of(known, of) && (room_known)))                                \
			q = room(in, p, n, usable, as, caller);                                        \
		return mw_likely(q != NULL) ? q : mw_admit_none(in, p, n, caller, known);              \
	}
ADMIT(admit_ruby, MW_MODE_RUBY, MW_MODE_RUBY, mw_chunk_plain(p, &usable))
ADMIT(admit_bytes, MW_MODE_BYTES, MW_MODE_BYTES, mw_chunk_plain(p, &usable))
ADMIT(admit_class_ruby, MW_MODE_CLASS_RUBY, MW_MODE_RUBY, mw_class_usable(n, &usable))
ADMIT(admit_class_bytes, MW_MODE_CLASS_BYTES, MW_MODE_BYTES, mw_class_usable(n, &usable))
ADMIT(admit_musl_ruby, MW_MODE_CLASS_RUBY, MW_MODE_RUBY, mw_musl_usable(n, &usable))
ADMIT(admit_musl_bytes, MW_MODE_CLASS_BYTES, MW_MODE_BYTES, mw_musl_usable(n, &usable))

mw_admit_fn *mw_admit_recorded(enum mw_mode mode, bool with_callers)
{
	bool ruby = mode == MW_MODE_RUBY || mode == MW_MODE_CLASS_RUBY, musl = mw_real_musl_plain;

	return ruby && with_callers        ? NULL :
	       mode == MW_MODE_RUBY        ? admit_ruby :
	       mode == MW_MODE_BYTES       ? admit_bytes :
	       mode == MW_MODE_CLASS_RUBY  ? (musl ? admit_musl_ruby : admit_class_ruby) :
	       mode == MW_MODE_CLASS_BYTES ? (musl ? admit_musl_bytes : admit_class_bytes) :
					     NULL;
}

MW_INLINE void gone(struct mw_guard in, const void *p, const struct mw_gone *g, uint32_t mode)
{
	if (mw_likely(g->size < MW_TRACE_LARGE))
		mw_event_gone(in.t, mode == MW_MODE_RUBY, g->ref);
	else
		mw_event_free(in.t, p, g->ref, g->size);
}

#define FREE_PLAIN(name, of, mode, plain)                                                  \
	static __attribute__((hot)) void name(void *p, struct mw_guard in, uint32_t known) \
	{                                                                                  \
		struct mw_gone g;                                                          \
		size_t usable;                                                             \
		if (mw_likely(permit_is_of(known, of) && plain(p, &usable) &&              \
			      mw_dismiss_of(in.t, p, usable - MW_TAIL, NULL, mode, &g))) { \
			gone(in, p, &g, mode);                                             \
			mw_leave_as(in, known);                                            \
			mw_real.free(p);                                                   \
		} else {                                                                   \
			mw_free_none(p, in, known);                                        \
		}                                                                          \
	}
FREE_PLAIN(free_ruby, MW_MODE_RUBY, MW_MODE_RUBY, mw_chunk_plain)
FREE_PLAIN(free_bytes, MW_MODE_BYTES, MW_MODE_BYTES, mw_chunk_plain)
FREE_PLAIN(free_musl_ruby, MW_MODE_CLASS_RUBY, MW_MODE_RUBY, mw_musl_plain)
FREE_PLAIN(free_musl_bytes, MW_MODE_CLASS_BYTES, MW_MODE_BYTES, mw_musl_plain)

#define FREE_CLASS(name, of, as)                                                           \
	static __attribute__((hot)) void name(void *p, struct mw_guard in, uint32_t known) \
	{                                                                                  \
		struct mw_class_guess guess;                                               \
		struct mw_gone g;                                                          \
		if (mw_likely(permit_is_of(known, of) && mw_class_guess(p, &guess) &&      \
			      mw_dismiss_of(in.t, p, guess.tail, &guess, as, &g))) {       \
			gone(in, p, &g, as);                                               \
			mw_leave_as(in, known);                                            \
			mw_class_free_small(p, guess.tail + MW_TAIL, 0);                   \
		} else {                                                                   \
			mw_free_none(p, in, known);                                        \
		}                                                                          \
	}
FREE_CLASS(free_class_ruby, MW_MODE_CLASS_RUBY, MW_MODE_RUBY)
FREE_CLASS(free_class_bytes, MW_MODE_CLASS_BYTES, MW_MODE_BYTES)

mw_free_fn *mw_free_recorded(enum mw_mode mode)
{
	bool musl = mw_real_musl_plain;

	return mode == MW_MODE_RUBY        ? free_ruby :
	       mode == MW_MODE_BYTES       ? free_bytes :
	       mode == MW_MODE_CLASS_RUBY  ? (musl ? free_musl_ruby : free_class_ruby) :
	       mode == MW_MODE_CLASS_BYTES ? (musl ? free_musl_bytes : free_class_bytes) :
					     NULL;
}
