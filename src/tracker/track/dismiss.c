/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dismiss.c - free's steps in each mode but that of Ruby on glibc. Apart from each other, so that
 * none saves registers: on the fast way they call nothing but, last of all, the real free.
 */
#include "dismiss.h"
#include "clocked.h"
#include "tracker/real/musl.h"
#include "tracker/real/own_blocks.h"
#include "shared.h"

/* --- of a thread that carried MW_PERMIT_CLOCKED ------------------------------------------------- */

/*
 * Brings what the dismissal of p reads into the cache. Else the time would be that of a wait for memory, for which there is
 * none on the usual way: the third free before this one has fetched it (mw_dismiss_ahead), and the real free waits for the
 * block in any case.
 */
static void fetch(struct mw_shard *t, const void *p)
{
	uint32_t ref = mw_tail_read(p, mw_usable(p));
	uint32_t id = (uint32_t)mw_record_guess_where(mw_record_guess(ref)) & MW_CS_MASK;
	const volatile uint32_t *of = &mw_slot(t, id)->id;

	(void)*of;
}

/* The first step of free(3), in the mode of the permit `known`. False: it must go the long way. */
static bool dismiss_shortly(struct mw_shard *t, void *p, uint32_t known)
{
	bool ruby = mw_permit_is(known, &mw_permit_class_ruby);
	struct mw_class_guess g;
	size_t usable;

	if (mw_permit_is(known, &mw_permit_ruby.ruby))
		return mw_dismiss_plain(t, p, MW_MODE_RUBY);
	if (mw_permit_is(known, &mw_permit_bytes))
		return mw_dismiss_plain(t, p, MW_MODE_BYTES);
	if (!ruby && !mw_permit_is(known, &mw_permit_class_bytes))
		return false;
	if (mw_real_musl_plain)
		return mw_musl_plain(p, &usable) && (ruby ? mw_dismiss_fast(t, p, usable, MW_MODE_RUBY) :
							    mw_dismiss_fast(t, p, usable, MW_MODE_BYTES));
	return mw_class_guess(p, &g) && (ruby ? mw_dismiss_if(t, p, g.tail, &g, MW_MODE_RUBY) :
						mw_dismiss_if(t, p, g.tail, &g, MW_MODE_BYTES));
}

__attribute__((cold, noinline)) static void free_clocked(void *p, struct mw_guard in)
{
	struct mw_shard *t = in.t;
	struct mw_clocked_call c;
	uint32_t known;
	bool done;

	mw_leave(in);
	fetch(t, p);
	mw_clocked_begin(&c);
	in = mw_enter_carrying(t, &known);
	done = dismiss_shortly(t, p, known);
	mw_leave_as(in, known);
	if (!done && mw_permit_is(known, &mw_permit_calls) && !mw_own_is(p)) {
		(void)mw_dismiss(t, p); /* as mw_free_none: a block that it doesn't know is noted once */
		done = true;
	}
	if (done) {
		mw_clocked_end(t, &c, true);
		mw_real.free(p);
		return;
	}
	in = mw_enter_carrying(t, &known);
	mw_free_none(p, in, known);
}

/* ----------------------------------------------------------------------------------------------- */

__attribute__((noinline)) void mw_free_none(void *p, struct mw_guard in, uint32_t known)
{
	struct mw_gone gone;
	bool done;

	if (!mw_permit_is(known, &mw_permit)) {
		if (known == MW_PERMIT_CLOCKED) {
			free_clocked(p, in);
			return;
		}
		mw_leave_as(in, known);
		mw_free_shared(p);
		return;
	}
	done = mw_dismiss_of(in.t, p, mw_usable(p) - MW_TAIL, NULL, MW_MODE_NONE, &gone);
	if (done && mw_get(&mw_events_on))
		mw_event_free(in.t, p, gone.ref, gone.size);
	mw_leave_as(in, known);
	if (!done) {
		if (mw_own_is(p)) {
			mw_own_free(p);
			return;
		}
		(void)mw_dismiss(in.t, p);
		mw_clocked_cold_free(in.t);
	}
	mw_real.free(p);
}

static __attribute__((hot)) void free_bytes(void *p, struct mw_guard in, uint32_t known)
{
	if (mw_unlikely(!mw_permit_is(known, &mw_permit_bytes))) {
		mw_free_none(p, in, known);
	} else if (mw_likely(mw_dismiss_plain(in.t, p, MW_MODE_BYTES))) {
		mw_leave(in);
		mw_real.free(p);
	} else {
		mw_free_none(p, in, in.t->known);
	}
}

/* Of a block with that room. Without a tail, the last bytes are the app's, and rarely look like one. */
MW_INLINE bool dismiss_in(struct mw_shard *t, void *p, size_t room, uint32_t mode)
{
	return (mw_tail_checks(p, room) && mw_dismiss_fast(t, p, room, mode)) ||
	       mw_dismiss_beside(t, p, room, mode);
}

/*
 * With classes, where no guess held. These three take t->known for the permit that t carried: to
 * keep `known` would cost a register.
 */
static __attribute__((hot, noinline)) void free_asked(void *p, struct mw_guard in, uint32_t known)
{
	bool ruby = mw_permit_is(known, &mw_permit_class_ruby);
	size_t room;

	if (mw_likely((ruby || mw_permit_is(known, &mw_permit_class_bytes)) && !mw_own_is(p))) {
		room = mw_real.malloc_usable_size(p);
		if (mw_likely(room && (ruby ? dismiss_in(in.t, p, room, MW_MODE_RUBY) :
					      dismiss_in(in.t, p, room, MW_MODE_BYTES)))) {
			mw_leave_as(in, known);
			mw_class_learn(p, room);
			mw_class_free(p, room, 0);
			return;
		}
	}
	mw_free_none(p, in, known);
}

MW_ROW(17) MW_LINE static void free_class_ruby(void *p, struct mw_guard in, uint32_t known)
{
	struct mw_class_guess g;

	if (mw_unlikely(!mw_permit_is(known, &mw_permit_class_ruby)))
		mw_free_none(p, in, known);
	else if (mw_likely(mw_class_guess(p, &g) && mw_dismiss_if(in.t, p, g.tail, &g, MW_MODE_RUBY))) {
		mw_leave(in);
		mw_class_free_small(p, g.tail + MW_TAIL, 0);
	} else
		free_asked(p, in, in.t->known);
}

static __attribute__((hot)) void free_class_bytes(void *p, struct mw_guard in, uint32_t known)
{
	struct mw_class_guess g;

	if (mw_unlikely(!mw_permit_is(known, &mw_permit_class_bytes)))
		mw_free_none(p, in, known);
	else if (mw_likely(mw_class_guess(p, &g) && mw_dismiss_if(in.t, p, g.tail, &g, MW_MODE_BYTES))) {
		mw_leave(in);
		mw_class_free_small(p, g.tail + MW_TAIL, 0);
	} else
		free_asked(p, in, in.t->known);
}

/* On musl a block tells its room itself. */
#define FREE_MUSL(name, permit, mode)                                                      \
	static __attribute__((hot)) void name(void *p, struct mw_guard in, uint32_t known) \
	{                                                                                  \
		size_t usable;                                                             \
		if (mw_unlikely(!mw_permit_is(known, &(permit)))) {                        \
			mw_free_none(p, in, known);                                        \
		} else if (mw_likely(mw_musl_plain(p, &usable) &&                          \
				     mw_dismiss_fast(in.t, p, usable, mode))) {            \
			mw_leave(in);                                                      \
			mw_real.free(p);                                                   \
		} else {                                                                   \
			mw_free_none(p, in, in.t->known);                                  \
		}                                                                          \
	}
FREE_MUSL(free_musl_ruby, mw_permit_class_ruby, MW_MODE_RUBY)
FREE_MUSL(free_musl_bytes, mw_permit_class_bytes, MW_MODE_BYTES)

mw_free_fn *mw_free_other = mw_free_none;

void mw_free_other_choose(enum mw_mode mode)
{
	bool musl = mw_real_musl_plain;
	mw_free_fn *recorded = mw_get(&mw_events_on) ? mw_free_recorded(mode) : NULL;
	mw_free_fn *f = mw_get(&mw_events_on)       ? recorded :
			mode == MW_MODE_CLASS_RUBY  ? (musl ? free_musl_ruby : free_class_ruby) :
			mode == MW_MODE_CLASS_BYTES ? (musl ? free_musl_bytes : free_class_bytes) :
			mode == MW_MODE_BYTES       ? free_bytes :
						      mw_free_none;

	mw_set(&mw_free_other, f ? f : mw_free_none);
}
