/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track.h - from an allocator's call to the table: what every interposed
 * function does before or after the real one.
 *
 *   admit    after an allocation: finds the caller's location, takes a
 *            record, writes the tail, counts
 *   dismiss  before a free: finds the record by the tail, counts, gives it back
 *
 * The usual path is inline, in one thread's own memory, without a lock or an
 * atomic read-modify-write. Everything else is in slow.c. While inside, the
 * thread is busy (thread.h), which a signal handler's calls notice.
 */
#ifndef MW_TRACK_TRACK_H
#define MW_TRACK_TRACK_H

#include <stdbool.h>

#include "../table/thread.h"
#include "../table/where_cache.h"
#include "generation.h"
#include "real.h"
#include "tail.h"
#include "where.h"

#define MW_EXPORT __attribute__((visibility("default")))
#define MW_CALLER ((uintptr_t)__builtin_return_address(0))

/* Lifecycle of the tracker in this process. */
enum mw_life {
	MW_UNBORN,   /* nothing is set up */
	MW_STARTING, /* being set up, by one thread: calls pass through */
	MW_ON,
	MW_OFF       /* could not be set up: calls pass through for ever */
};
extern int mw_life; /* enum mw_life; release */

extern uint64_t mw_lost; /* live records that could not be had */
void mw_lose(uint32_t size); /* counts one; size: as encoded */

/*
 * This thread's state if its call can go the usual way: set up, not busy,
 * not quiet, not over. NULL: slow.c decides.
 */
static inline struct mw_thread *mw_usual(void)
{
	struct mw_thread *t = mw_self;

	return mw_likely((uintptr_t)t > (uintptr_t)MW_LATE && !t->hush) ? t : NULL;
}

static inline void mw_enter(struct mw_thread *t)
{
	mw_set(&t->hush, MW_BUSY);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void mw_leave(struct mw_thread *t)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mw_set(&t->hush, 0);
}

/* --- allocated ------------------------------------------------------------------ */

static inline void mw_record_fill(struct mw_record *r, const void *p, uint32_t size, uint32_t id,
				  uint32_t generation)
{
	mw_set(&r->what, (uint64_t)generation << 32 | size);
	__atomic_store_n(&r->where, mw_where_of(p, id), __ATOMIC_RELEASE);
}

/* p was asked for as mw_padded(n) bytes and is not NULL. Returns p. */
MW_INLINE void *mw_admit(struct mw_thread *t, void *p, size_t n,
							     uintptr_t caller)
{
	uint32_t id, i = 0, size;
	uint64_t calls;

	mw_enter(t);
	id = mw_where(t, caller);
	size = mw_size_encode(n);
	if (mw_likely(size != MW_SIZE_NONE))
		i = mw_spare_take(t);
	mw_tail_write(p, mw_usable(p), i);
	if (mw_likely(i)) {
		mw_record_fill(mw_record_at(i), p, size, id, mw_generation(t));
		calls = mw_count_alloc(t, id, n);
		mw_generation_add(t, n);
		/* the first calls of a line, then one in a thousand */
		if (mw_unlikely((calls & (calls - 1) & 0x3fff) == 0))
			mw_where_check(t);
	} else {
		mw_lose(size);
	}
	mw_leave(t);
	return p;
}

/* --- freed ---------------------------------------------------------------------- */

/* What a record said when its block was dismissed. */
struct mw_dismissed {
	struct mw_record *record;
	uint32_t index;
	uint64_t where, what;
};

/* Finds p's record by its tail; false: p has none. Hides it from readers. */
MW_INLINE bool mw_hide(const void *p, struct mw_dismissed *d)
{
	d->index = mw_tail_read(p, mw_usable(p));
	d->record = mw_record_if(d->index);
	if (mw_unlikely(!d->record))
		return false;
	d->where = mw_get(&d->record->where);
	if (mw_unlikely(!mw_record_is(d->where, p)))
		return false;
	d->what = mw_get(&d->record->what);
	mw_set(&d->record->where, 0);
	return true;
}

/* The block lives on after all. */
MW_INLINE void mw_unhide(const struct mw_dismissed *d)
{
	__atomic_store_n(&d->record->where, d->where, __ATOMIC_RELEASE);
}

/* Counts a hidden one as freed. */
MW_INLINE void mw_count_hidden(struct mw_thread *t, const void *p, const struct mw_dismissed *d)
{
	uint32_t size = (uint32_t)d->what;

	mw_count_free(t, (uint32_t)d->where & MW_CS_MASK, mw_size_decode(size),
		      mw_generation(t) - (uint32_t)(d->what >> 32));
	if (mw_unlikely(d->where & MW_CODE))
		mw_where_forget((uintptr_t)p, mw_size_decode(size));
	if (mw_unlikely(size >= MW_SIZE_HUGE))
		mw_size_release_huge(size);
}

MW_INLINE void mw_dismiss(struct mw_thread *t, void *p)
{
	struct mw_dismissed d;

	mw_enter(t);
	if (mw_likely(mw_hide(p, &d))) {
		mw_count_hidden(t, p, &d);
		mw_spare_give(t, d.index);
	}
	mw_leave(t);
}

/* --- slow.c: everything that isn't usual ------------------------------------------ */

/* How to ask the real allocator: one of its functions with its arguments. */
enum mw_how { MW_MALLOC, MW_CALLOC, MW_MEMALIGN, MW_POSIX_MEMALIGN, MW_ALIGNED_ALLOC, MW_VALLOC };
struct mw_ask {
	enum mw_how how;
	size_t n, align; /* n: bytes, without the tail */
	int error;       /* out, for MW_POSIX_MEMALIGN */
};
/* The real call for `bytes`; NULL and errno as the allocator has it. */
void *mw_ask_real(struct mw_ask *, size_t bytes);
/* First calls of a thread, quiet ones, those from signal handlers, late ones. */
void *mw_slow_alloc(struct mw_ask *, uintptr_t caller);
/* Any allocation call, usual or not. */
void *mw_ask_at(struct mw_ask *, uintptr_t caller);
/* Counts a block that was asked for as mw_padded(n), when not usual. */
void *mw_slow_admit(void *p, size_t n, uintptr_t caller);
void mw_slow_free(void *p);
void *mw_slow_realloc(void *p, size_t n, uintptr_t caller);
/* Sets up the tracker if that hasn't been tried. */
void mw_start(void);
/* Depth after the call; a thread without a state stays at 0. */
unsigned mw_quiet_enter(void);
unsigned mw_quiet_leave(void);

#endif
