/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sized.h"

#include <stdlib.h>

#include "tracker/track/sampled.h"
#include "tracker/track/dismiss.h"
#include "tracker/track/wrong_size.h"

/* older headers, or musl's, don't have these */
void free_sized(void *, size_t);
void free_aligned_sized(void *, size_t, size_t);

/* As mw_dismiss_plain (dismiss.h), if p has n bytes. */
MW_INLINE bool dismiss_plain(struct mw_shard *t, void *p, size_t n, uint32_t mode)
{
	struct mw_gone gone;
	size_t usable;

	return mw_likely(mw_chunk_plain(p, &usable)) &&
	       mw_dismiss_sized(t, p, usable - MW_TAIL, NULL, true, n, mode, &gone);
}

/* With classes, the same by a guess. *room: to free it with. */
MW_INLINE bool dismiss_guessed(struct mw_shard *t, void *p, size_t n, uint32_t mode, size_t *room)
{
	struct mw_class_guess g;
	struct mw_gone gone;

	if (mw_unlikely(!mw_class_guess(p, &g)))
		return false;
	*room = g.tail + MW_TAIL;
	return mw_dismiss_sized(t, p, g.tail, &g, true, n, mode, &gone);
}

/* Apart, as in dismiss.c: so neither saves registers on its fast way. */
static __attribute__((noinline)) void free_other(void *p, size_t n, struct mw_guard in, uint32_t known)
{
	size_t room;

	if ((mw_permit_is(known, &mw_permit_class_ruby) &&
	     mw_likely(dismiss_guessed(in.t, p, n, MW_MODE_RUBY, &room))) ||
	    (mw_permit_is(known, &mw_permit_class_bytes) &&
	     mw_likely(dismiss_guessed(in.t, p, n, MW_MODE_BYTES, &room)))) {
		mw_leave_as(in, known);
		mw_class_free_small(p, room, 0);
	} else {
		mw_leave_as(in, known);
		mw_wrong_size_look(p, n);
		free(p);
	}
}

/* free's own fast ways (malloc.c, dismiss.c) again: a comparison within them costs less than a look before. */
void mw_free_sized(void *p, size_t n)
{
	struct mw_guard in;
	uint32_t known;

	if (mw_unlikely(!mw_reaches((uintptr_t)p, &mw_least.free))) { /* NULL; or allocations are sampled */
		free(p);
		return;
	}
	in = mw_enter_carrying(mw_self, &known);
	if ((mw_permit_is(known, &mw_permit_ruby.ruby) &&
	     mw_likely(dismiss_plain(in.t, p, n, MW_MODE_RUBY))) ||
	    (mw_permit_is(known, &mw_permit_bytes) && mw_likely(dismiss_plain(in.t, p, n, MW_MODE_BYTES)))) {
		mw_leave_as(in, known);
		mw_real.free(p);
		return;
	}
	free_other(p, n, in, known);
}

MW_EXPORT void free_sized(void *p, size_t n)
{
	if (mw_unlikely(mw_first.free != NULL))
		mw_first.free(p);
	else
		mw_free_sized(p, n);
}

MW_EXPORT void free_aligned_sized(void *p, size_t align, size_t n)
{
	(void)align;
	free_sized(p, n);
}
