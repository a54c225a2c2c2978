/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track.h - from an allocator's call to the table: each interposed function
 * does one of these before or after the real function.
 *
 *   admit    after an allocation: finds the caller's location, takes a
 *            record, writes the tail, counts
 *   dismiss  before a free: finds the record by the tail, counts, gives it back
 *
 * The fast way is inline, in one thread's own memory, without a lock or an
 * atomic read-modify-write. Everything else is in slow.c. While inside, the
 * thread is busy (shard.h); calls of a signal handler notice that.
 */
#ifndef MW_TRACK_TRACK_H
#define MW_TRACK_TRACK_H

#include <stdbool.h>

#include "table/shard.h"
#include "table/caller_cache.h"
#include "table/generation.h"
#include "overrun.h"
#include "real/real.h"
#include "table/tail.h"
#include "caller/locate.h"

#define MW_CALLER ((uintptr_t)__builtin_return_address(0))

/* Lifecycle of the tracker in this process. */
enum mw_life {
	MW_UNBORN,   /* nothing is set up */
	MW_STARTING, /* being set up, by one thread: calls pass through */
	MW_ON,
	MW_OFF       /* set-up failed: calls pass through for ever */
};
extern MW_HIDDEN int mw_life; /* enum mw_life; release */

/*
 * Chooses the mode of this process (enum mw_mode, in mw_permit). Malloc and free
 * rely on it without looking:
 *
 *   MW_MODE_NONE   nothing holds; tracking may even be off: mw_paused
 *   MW_MODE_BYTES  the allocator is glibc's, whose chunks can be read; no Ruby is here
 *   MW_MODE_RUBY   the same, but GC.count can be read, and lines are found the fast way
 *
 * The old mode stays correct for a while after a change.
 */
void mw_mode_choose(void);
/* For stats.json: "none", "bytes" or "ruby". *why: the reason for "none", or "". */
const char *mw_mode_name(const char **why);
/*
 * Tracking is off. Read only where the mode is MW_MODE_NONE or something isn't
 * at hand, so the fast way pays nothing for it. A block admitted meanwhile gets
 * a tail that says "not counted", as a quiet thread's block does.
 */
extern MW_HOT bool mw_paused;
/* Any thread. Calls under way count before or after it. */
void mw_pause(bool on);
/* All ones if the tracker is on, on glibc, and real.h's boot arena was never used; else 0. */
extern MW_HOT uintptr_t mw_plain;

extern uint64_t mw_lost; /* blocks that got no record */
void mw_lose(uint32_t size); /* counts one; size: as a record has it */

/*
 * The real malloc, for the app's bytes and the tail's together. On an allocator that
 * isn't glibc's it is a function that asks for mw_padded's size instead. At first it
 * is a function that sets the tracker up, so the fast way needs no check for that.
 */
extern MW_HOT_STRUCT void *(*mw_roomy_malloc)(size_t);

/* start.c: the same as mw_permitted, for a thread with no permit or an old one. */
struct mw_shard *mw_permitted_cold(void);
/*
 * This thread's state if its call can go the fast way: set up, not busy,
 * not quiet, not after its end. NULL: slow.c decides.
 */
MW_INLINE struct mw_shard *mw_permitted(void)
{
	struct mw_shard *t = mw_self;

	return mw_likely(mw_get(&t->permit) == __atomic_load_n(&mw_permit, __ATOMIC_ACQUIRE)) ?
		       t :
		       mw_permitted_cold();
}

/* --- allocated ------------------------------------------------------------------ */

/* id: may have MW_CODE set */
MW_INLINE void mw_record_fill(struct mw_record *r, const void *p, uint32_t size, uint32_t id,
			      uint32_t generation)
{
	mw_set(&r->size, size);
	mw_set(&r->generation, generation);
	__atomic_store_n(&r->where, mw_record_pack(p, id), __ATOMIC_RELEASE);
}

/* slow.c: the same as mw_admit, with anything missing. t is busy; leaves it. */
void *mw_admit_shared_counts(struct mw_shard *t, void *p, size_t n, uintptr_t caller);
/* The same for n < MW_SIZE_HUGE; finds callers at hand that the fast way doesn't. */
void *mw_admit_cold(struct mw_shard *t, void *p, size_t n, uintptr_t caller);
/* Compares fast and public lookups (frame.h), and returns p. t is busy; leaves it. */
void *mw_admit_check(struct mw_shard *t, void *p) __attribute__((returns_nonnull));

/*
 * p has room for n bytes and a tail, n < MW_SIZE_HUGE, and is not NULL;
 * usable: its room. t is busy. False: something isn't at hand (the location
 * with its counters, a free record), and nothing has changed. Calls nothing,
 * so the compiler saves few registers.
 */
MW_INLINE bool mw_admit_with(struct mw_shard *t, void *p, size_t n, size_t usable, struct mw_caller *w,
			     uint32_t generation)
{
	struct mw_record *r = t->spare;

	if (mw_unlikely(!w || !r))
		return false;
	mw_tail_write(p, usable, mw_spare_pop(t, r));
	mw_record_fill(r, p, (uint32_t)n, w->id, generation);
	mw_caller_alloc(w, n);
	return true;
}

/*
 * The same for a thread that entered with the permit `known`, of this mode. The mode is a
 * constant and not MW_MODE_NONE. Returns p, and t has left; or NULL, and nothing has changed.
 * Under MW_MODE_RUBY the caller isn't needed: it is 0, since finding it costs something.
 */
MW_INLINE void *mw_admit_fast(struct mw_shard *t, void *p, size_t n, uint32_t mode, uintptr_t caller,
			      uint32_t known)
{
	bool ruby = mode == MW_MODE_RUBY, done = false;
	uintptr_t pc = caller;
	size_t usable;

	if (mw_likely(mw_chunk_plain(p, &usable))) {
		if (ruby)
			pc = mw_ruby_pc_now();
		if (mw_likely(!ruby || pc))
			done = mw_admit_with(t, p, n, usable, mw_caller_first(t, pc),
					     ruby ? mw_generation_read() : mw_generation_in_bytes(t));
	}
	if (mw_unlikely(!done))
		return NULL;
	if (!ruby)
		mw_generation_add(t, n);
	else if (mw_unlikely(--t->check_in == 0))
		return mw_admit_check(t, p);
	mw_leave_as(t, known);
	return p;
}

/* For any n, and any thread that mw_permitted returned. */
static inline void *mw_admit(struct mw_shard *t, void *p, size_t n, uintptr_t caller)
{
	void *q = NULL;

	mw_enter(t);
	if (mw_likely(t->known == mw_get(&mw_permit_ruby) && n < MW_SIZE_HUGE))
		q = mw_admit_fast(t, p, n, MW_MODE_RUBY, 0, t->known);
	if (mw_likely(q != NULL))
		return q;
	return n < MW_SIZE_HUGE ? mw_admit_cold(t, p, n, caller) : mw_admit_shared_counts(t, p, n, caller);
}

/* --- freed ---------------------------------------------------------------------- */

/* The contents of a record when its block was dismissed. */
struct mw_dismissed {
	struct mw_record *record;
	uint32_t ref;
	bool overrun; /* the app wrote past the block's end: noted if the block dies */
	uint32_t size, generation;
	uint64_t where;
};

/* Fills in *d from d->record and d->ref, and hides that record from readers. */
MW_INLINE void mw_hide_record(struct mw_dismissed *d)
{
	d->where = mw_get(&d->record->where);
	d->size = mw_get(&d->record->size);
	d->generation = mw_get(&d->record->generation);
	mw_record_free(d->record, d->ref);
}

/* Finds p's record by its tail or without (overrun.h); hides it from readers. False: none. */
MW_INLINE bool mw_hide(const void *p, struct mw_dismissed *d)
{
	size_t usable = mw_usable(p);

	d->overrun = false;
	d->ref = mw_tail_read(p, usable);
	d->record = mw_record_guess(d->ref);
	if (mw_unlikely(!mw_tail_checks(p, usable) || !mw_record_is(mw_record_guess_where(d->record), p)))
		return mw_hide_stray(p, usable, d);
	mw_hide_record(d);
	return true;
}

/* The block lives on after all. */
MW_INLINE void mw_unhide(const struct mw_dismissed *d)
{
	__atomic_store_n(&d->record->where, d->where, __ATOMIC_RELEASE);
}

/* slow.c: counts a hidden block as freed. t is busy. */
void mw_count_hidden(struct mw_shard *t, const void *p, const struct mw_dismissed *d);
/* Any block, before its free. False: p has no record, was not counted, or isn't one we saw. */
bool mw_dismiss(struct mw_shard *t, const void *p);

MW_INLINE uint32_t mw_generation_in_mode(const struct mw_shard *t, uint32_t mode)
{
	return mode == MW_MODE_RUBY  ? mw_generation_read() :
	       mode == MW_MODE_BYTES ? mw_generation_in_bytes(t) :
				       mw_generation(t);
}

/*
 * Fetches the memory that the third free from here will read. Ruby's collector frees in the
 * order of its slots. Slots and records are both taken last first, so the blocks of the records
 * before r usually come next. Without this each free would wait for its block, then for the tail
 * at the block's end, then for the record: memory not touched since it was allocated.
 * A wrong guess costs six instructions; a prefetch never faults.
 */
MW_INLINE void mw_dismiss_ahead(const struct mw_record *r)
{
	const struct mw_record *then = r - (MW_BEFORE - 1);
	uintptr_t p = mw_record_block(mw_get(&then->where));

	__builtin_prefetch((const void *)p); /* the allocator writes here */
	__builtin_prefetch((const void *)(p + mw_get(&then->size) + MW_TAIL)); /* reads here */
	/* the records of later frees, four cache lines from here */
	__builtin_prefetch((const void *)((uintptr_t)r - 4 * MW_BEFORE * sizeof(*r)));
}

/*
 * As mw_dismiss, if everything is at hand. usable: p's room; mode: enum mw_mode,
 * as the caller found it. t is busy. False: nothing has changed. It reads the record
 * plainly: no other thread writes it while the block is live.
 */
MW_INLINE bool mw_dismiss_fast(struct mw_shard *t, void *p, size_t usable, uint32_t mode)
{
	uintptr_t ref = mw_tail_read(p, usable); /* as wide as the address that it is added to */
	struct mw_record *r = mw_record_guess(ref);
	struct mw_slot *s;
	uint32_t life;
	uint64_t id;

	id = mw_record_id(mw_record_guess_where(r), p);
	if (mw_unlikely(id >= MW_CODE || !mw_tail_checks(p, usable)))
		return false;
	s = mw_slot(t, (uint32_t)id);
	life = mw_generation_in_mode(t, mode) - r->generation; /* here: it needs registers */
	if (mw_unlikely(s->id != (uint32_t)id))
		return false;
	/* in bytes most lives are 0: these need no check */
	if (mode == MW_MODE_RUBY || mw_unlikely(life)) {
		if (mw_unlikely(life > s->life_max))
			return false;
	}
	if (mw_unlikely(mw_lower(&t->room))) {
		t->room++;
		return false;
	}
	if (mode == MW_MODE_RUBY || mw_unlikely(life))
		mw_bump(&s->life_sum, life);
	mw_slot_add_free(s, r->size);
	if (mode == MW_MODE_RUBY)
		mw_dismiss_ahead(r);
	mw_spare_push(t, r, (uint32_t)ref);
	return true;
}

/* --- slow.c: everything that isn't fast ------------------------------------------- */

/* A call of the real allocator: one of its functions with its arguments. */
enum mw_how { MW_MALLOC, MW_CALLOC, MW_MEMALIGN, MW_POSIX_MEMALIGN, MW_ALIGNED_ALLOC, MW_VALLOC };
struct mw_alloc_call {
	enum mw_how how;
	size_t n, align; /* n: bytes, without the tail */
	int error; /* out, for MW_POSIX_MEMALIGN */
};
/* The size to ask for, with room for a tail where one is needed. Aligned blocks always get a
   tail: some allocators align a block as large as its alignment less than asked. */
static inline size_t mw_alloc_bytes(const struct mw_alloc_call *a)
{
	return a->how == MW_MALLOC || a->how == MW_CALLOC ? mw_padded(a->n) : mw_with_tail(a->n);
}
/* The real call for `bytes`. NULL, with the allocator's errno, if it fails. */
void *mw_alloc_real(struct mw_alloc_call *, size_t bytes);
/* Any call: a thread's first, quiet ones, a signal handler's, those after the thread's state. */
void *mw_alloc_shared(struct mw_alloc_call *, uintptr_t caller);
/* Any allocation call, fast or not. */
void *mw_alloc_at(struct mw_alloc_call *, uintptr_t caller);
/* Counts a block off the fast way. It was asked for as mw_padded(n), or with room for a tail. */
void *mw_admit_shared(void *p, size_t n, uintptr_t caller);
void mw_free_shared(void *p);
void *mw_realloc_shared(void *p, size_t n, uintptr_t caller);
/* Sets the tracker up, once: a failure is final. */
void mw_start(void);
/* Return the depth after the call; 0 for a thread without a state while the tracker isn't on. */
unsigned mw_quiet_enter(void);
unsigned mw_quiet_leave(void);
/* See api.h. */
void mw_hush(bool on);

#endif
