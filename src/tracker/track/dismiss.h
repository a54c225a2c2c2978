/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dismiss.h - counts a block that is about to be freed: every freeing function's first step. */
#pragma once

#include "events.h"
#include "overrun.h"
#include "tracker/real/classes.h"
#include "tracker/real/real.h"
#include "tracker/table/generation.h"
#include "tracker/table/sampled_blocks.h"
#include "tracker/table/shard.h"
#include "tracker/table/tail.h"
#include "track.h"

/* The contents of a record when its block was dismissed. */
struct mw_dismissed {
	struct mw_record *record;
	uint32_t ref;
	bool overrun; /* the app wrote past the block's end: noted if the block dies */
	uint32_t size, generation;
	uint32_t count; /* of a sample: blocks that it stood for (sampled_blocks.h); else 0 */
	uint64_t where;
};

/* Its record is hidden. A sample leaves its set before p is freed: then p may be another thread's sample. */
MW_INLINE void mw_hide_sample(const void *p, struct mw_dismissed *d)
{
	d->count = mw_unlikely(d->where & MW_CODE) ? mw_sampled_take(p) : 0;
}

/* Fills in *d from d->record and d->ref, and hides that record of p's from readers. */
MW_INLINE void mw_hide_record(const void *p, struct mw_dismissed *d)
{
	d->where = mw_get(&d->record->where);
	d->size = mw_get(&d->record->size);
	d->generation = mw_get(&d->record->generation);
	mw_record_free(d->record, d->ref);
	mw_hide_sample(p, d);
}

/*
 * Finds p's record by its tail or without (overrun.h); hides it from readers. False: it has none. The thread is busy, or
 * between mw_late_enter and mw_late_leave: so either forget.c waits for it, or it sees mw_life. Then both hide by
 * mw_hide_once.
 */
MW_INLINE bool mw_hide(const void *p, struct mw_dismissed *d)
{
	struct mw_class_guess g;
	size_t usable;

	if (mw_unlikely(!mw_is_on()))
		return mw_hide_changing(p, d);
	d->overrun = false;
	if (mw_class_plain && mw_class_guess(p, &g)) {
		d->ref = mw_tail_read_at(p, g.tail);
		d->record = mw_record_guess(d->ref);
		if (mw_likely(mw_record_is(mw_record_guess_where(d->record), p) &&
			      mw_tail_checks_at(p, g.tail) && mw_class_agrees(&g, d->record->size))) {
			mw_hide_record(p, d);
			return true;
		}
	}
	usable = mw_usable(p);
	d->ref = mw_tail_read(p, usable);
	d->record = mw_record_guess(d->ref);
	if (mw_unlikely(!mw_tail_checks(p, usable) || !mw_record_is(mw_record_guess_where(d->record), p)))
		return mw_hide_stray(p, usable, d);
	mw_hide_record(p, d);
	return true;
}

/* The block lives on after all. A sample for which there is no memory stands for itself then. */
MW_INLINE void mw_unhide(const void *p, const struct mw_dismissed *d)
{
	if (mw_unlikely(d->count))
		(void)mw_sampled_put(p, (struct mw_sampled_block){ d->ref, d->count });
	__atomic_store_n(&d->record->where, d->where, __ATOMIC_RELEASE);
}

/* cold.c: counts a hidden block as freed. t is busy. */
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
 * Counts a free under the present permit, if the slot is at hand and the batch in use has room for
 * the block's record. False: nothing has changed.
 */
MW_INLINE bool mw_count_free_if(struct mw_shard *t, uint32_t id, uint32_t size, uint32_t life, uint32_t mode)
{
	struct mw_slot *s = mw_slot(t, id);

	if (mw_unlikely(s->id != id))
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
	mw_slot_add_free(s, size);
	return true;
}

/* A block that was dismissed. */
struct mw_gone {
	uint32_t ref, size;
};

/*
 * As mw_dismiss, if everything is at hand. The block's record is r, and its location id. mode: enum mw_mode, as the
 * caller found it. t is busy. False: nothing has changed. It reads the record plainly: no other thread writes it while
 * the block is live.
 */
MW_INLINE bool mw_dismiss_record(struct mw_shard *t, struct mw_record *r, uint32_t ref, uint32_t id,
				 uint32_t mode, struct mw_gone *gone)
{
	if (mw_unlikely(!mw_count_free_if(t, id, r->size, mw_generation_in_mode(t, mode) - r->generation,
					  mode)))
		return false;
	*gone = (struct mw_gone){ ref, r->size };
	if (mode == MW_MODE_RUBY)
		mw_dismiss_ahead(r);
	mw_spare_push(t, r, ref);
	return true;
}

/*
 * The same for a block with a tail. tail: where that is; guess: where it is from, or NULL if it is known; given: the
 * size that the app says it has, if it is `told` one.
 */
MW_INLINE bool mw_dismiss_sized(struct mw_shard *t, void *p, size_t tail, const struct mw_class_guess *guess,
				bool told, size_t given, uint32_t mode, struct mw_gone *gone)
{
	uintptr_t ref = mw_tail_read_at(p, tail); /* as wide as the address that it is added to */
	struct mw_record *r = mw_record_guess(ref);
	uint64_t id;

	id = mw_record_id(mw_record_guess_where(r), p);
	if (mw_unlikely(id >= MW_CODE || !mw_tail_checks_at(p, tail)))
		return false;
	if (guess && mw_unlikely(!mw_class_agrees(guess, r->size)))
		return false;
	if (told && mw_unlikely(given != r->size))
		return false;
	return mw_dismiss_record(t, r, (uint32_t)ref, (uint32_t)id, mode, gone);
}

/* The same for a block that may have none, with that room. */
MW_INLINE bool mw_dismiss_beside(struct mw_shard *t, void *p, size_t room, uint32_t mode)
{
	struct mw_record *r;
	struct mw_gone gone;
	uint32_t ref;
	uint64_t id;

	if (!mw_goes_beside(room))
		return false;
	ref = mw_side_index_get(p, room);
	r = mw_record_guess(ref);
	id = mw_record_id(mw_record_guess_where(r), p);
	/* code's blocks and huge ones go the other way; nor is it 0 or MW_REF_END */
	return id < MW_CODE && room - r->size < MW_TAIL &&
	       mw_dismiss_record(t, r, ref, (uint32_t)id, mode, &gone);
}

MW_INLINE bool mw_dismiss_of(struct mw_shard *t, void *p, size_t tail,
			     const struct mw_class_guess *guess, uint32_t mode, struct mw_gone *gone)
{
	return mw_dismiss_sized(t, p, tail, guess, false, 0, mode, gone);
}

MW_INLINE bool mw_dismiss_if(struct mw_shard *t, void *p, size_t tail,
			     const struct mw_class_guess *guess, uint32_t mode)
{
	struct mw_gone gone;

	return mw_dismiss_of(t, p, tail, guess, mode, &gone);
}

MW_INLINE bool mw_dismiss_fast(struct mw_shard *t, void *p, size_t usable, uint32_t mode)
{
	return mw_dismiss_if(t, p, usable - MW_TAIL, NULL, mode);
}

/* mw_dismiss_fast for glibc's blocks. */
MW_INLINE bool mw_dismiss_plain(struct mw_shard *t, void *p, uint32_t mode)
{
	size_t usable;

	return mw_likely(mw_chunk_plain(p, &usable)) && mw_dismiss_fast(t, p, usable, mode);
}

/*
 * dismiss.c: free in the present mode, unless that is MW_MODE_RUBY and all is at hand. p isn't NULL.
 * The thread carried the permit `known`. Relaxed: each function asks whether `known` is of its
 * mode, and does without if not.
 */
typedef void mw_free_fn(void *p, struct mw_guard in, uint32_t known);
extern MW_HOT_STRUCT mw_free_fn *mw_free_other;
void mw_free_other_choose(enum mw_mode);
mw_free_fn mw_free_none;
/* recorded.c: the same while calls are recorded; NULL: mw_free_none will do. */
mw_free_fn *mw_free_recorded(enum mw_mode);

/* As mw_count_hidden, inline if everything is at hand. */
MW_INLINE void mw_count_hidden_fast(struct mw_shard *t, const void *p, const struct mw_dismissed *d)
{
	uint32_t id = (uint32_t)d->where & (MW_CS_MASK | (uint32_t)MW_CODE);

	if (mw_likely(id < MW_CODE && !d->overrun && mw_permit_is(t->known, &mw_permit) &&
		      mw_count_free_if(t, id, d->size, mw_generation(t) - d->generation, MW_MODE_NONE)))
		mw_spare_push(t, d->record, d->ref);
	else
		mw_count_hidden(t, p, d);
}

/* cold.c: the block at p is gone. Releases a huge size, and makes callers in freed code stale. */
void mw_unflag(const void *p, const struct mw_dismissed *d);
