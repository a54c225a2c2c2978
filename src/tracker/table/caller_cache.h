/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caller_cache.h - looks up and fills the caller cache, and makes its entries stale.
 *
 * A shard's caller cache maps caller -> location (shard.h: callers[]). A caller is a return
 * address or a Ruby pc. Either can come to mean other code: a library is closed, a method's
 * instructions are freed.
 *  - Each page of code, hashed to one of MW_CODE_PAGES counters, has an epoch. An entry is valid
 *    while its page's epoch is unchanged.
 *  - A counter of all changes is compared first. While it stands still, as it usually does, no
 *    entry became stale.
 *  - So a forget costs its caller a few adds, and each entry one look at its page.
 *
 * A caller may also be a key of several pcs, with its highest bit set (tracker/caller/ruby/chain.h). Its epoch
 * is the sum of those of its pages, which only the maker of the key knows.
 *
 * Order: the counters go up, the page's first, before the memory can be used again. A thread
 * that runs the new code has synchronised with the one that freed the old.
 */
#pragma once

#include "tracker/base/arena.h"
#include "shard.h"

enum { MW_CODE_PAGES = 1024 };
#define MW_CALLER_SKIP MW_CS_MASK /* skip this frame: it is <internal:…>, or has no line */
_Static_assert(MW_CS_MAX <= MW_CALLER_SKIP, "a record has room for any id, and none is this one");

extern MW_HIDDEN uint32_t mw_code_epoch[MW_CODE_PAGES];
extern MW_HOT uint32_t mw_code_changes;

/* The counters at the time of a lookup. */
struct mw_caller_time {
	uint32_t changes, epoch;
};

static inline struct mw_caller_time mw_caller_time(uintptr_t pc)
{
	struct mw_caller_time t;

	t.changes = __atomic_load_n(&mw_code_changes, __ATOMIC_ACQUIRE); /* before its page's */
	t.epoch = __atomic_load_n(&mw_code_epoch[(pc >> 12) % MW_CODE_PAGES], __ATOMIC_ACQUIRE);
	return t;
}

/*
 * The first place of pc's entry. Ruby's instructions are words, and those of one method lie in
 * a row: the next one's entry is usually in the same cache line.
 */
static inline uint32_t mw_caller_slot(const struct mw_shard *t, uintptr_t pc)
{
	return (uint32_t)(pc >> 3) & t->caller_mask / MW_ENTRY;
}

/*
 * The second place of pc's entry, after an eviction by another caller. Addresses of code are
 * chance, so in every process some callers collide: without a second place they would miss at
 * each call.
 */
static inline uint32_t mw_caller_second(const struct mw_shard *t, uintptr_t pc)
{
	return (mw_caller_slot(t, pc) ^ ((uint32_t)(pc >> 13) | 1)) & t->caller_mask / MW_ENTRY;
}

/* Is it pc's? The entry of a frame to be skipped has an address that no frame has. */
static inline bool mw_caller_is(const struct mw_caller *w, uintptr_t pc)
{
	return w->pc == (w->id == MW_CALLER_SKIP ? pc | 1 : pc);
}

/* pc's entry, perhaps stale, or NULL. */
static inline struct mw_caller *mw_caller_find(struct mw_shard *t, uintptr_t pc)
{
	struct mw_caller *w = &t->callers[mw_caller_slot(t, pc)];

	if (mw_caller_is(w, pc))
		return w;
	w = &t->callers[mw_caller_second(t, pc)];
	return mw_caller_is(w, pc) ? w : NULL;
}

/* pc's first place. */
MW_INLINE struct mw_caller *mw_caller_place(struct mw_shard *t, uintptr_t pc)
{
	enum { SHIFT = 5 - 3 }; /* as mw_caller_slot, times the size of an entry: 32 */

	_Static_assert(sizeof(struct mw_caller) == MW_ENTRY && MW_ENTRY == 8 << SHIFT, "SHIFT");
	return (struct mw_caller *)mw_shard_on(t, offsetof(struct mw_shard, callers),
					       pc << SHIFT & t->caller_mask);
}

/* pc's entry in its first place, with a location to count at; NULL: none, or it may be stale. */
MW_INLINE struct mw_caller *mw_caller_first(struct mw_shard *t, uintptr_t pc)
{
	struct mw_caller *w = mw_caller_place(t, pc);

	return mw_likely(w->pc == pc && mw_says(&mw_code_changes, w->changes)) ? w : NULL;
}

/*
 * pc's entry, valid now, or NULL. Its id may be MW_CALLER_SKIP, which mw_caller_first and mw_caller_in_second never find.
 * now: the counters at present.
 */
static inline struct mw_caller *mw_caller_valid_at(struct mw_shard *t, uintptr_t pc,
						   struct mw_caller_time now)
{
	struct mw_caller *w = mw_caller_find(t, pc);

	if (!w || *mw_caller_epoch(t, w) != now.epoch)
		return NULL;
	w->changes = now.changes;
	return w;
}

/* The id cached for pc, or MW_CS_NONE. */
static inline uint32_t mw_caller_recall_at(struct mw_shard *t, uintptr_t pc, struct mw_caller_time now)
{
	struct mw_caller *w = mw_caller_valid_at(t, pc, now);

	return w ? w->id : (uint32_t)MW_CS_NONE;
}

static inline uint32_t mw_caller_recall(struct mw_shard *t, uintptr_t pc)
{
	return mw_caller_recall_at(t, pc, mw_caller_time(pc));
}

/*
 * Makes w pc's entry. pc has its lowest bit set if the frame is to be skipped. False: not done,
 * since a reader keeps the gate closed. when: the counters under which the id is valid.
 */
static inline bool mw_caller_fill(struct mw_shard *t, struct mw_caller *w, uintptr_t pc, uint32_t id,
				  struct mw_caller_time when)
{
	mw_assert(w >= t->callers && w < mw_callers_end(t));
	if (w->id != id && !mw_caller_claim(t, w, id))
		return false;
	w->pc = pc;
	w->changes = when.changes;
	*mw_caller_epoch(t, w) = when.epoch;
	return true;
}

/* Is an entry of these counters valid? A key's pages aren't known here: only if nothing changed. */
static inline bool mw_caller_valid(uintptr_t pc, struct mw_caller_time when)
{
	struct mw_caller_time now = mw_caller_time(pc);

	return (intptr_t)pc < 0 ? when.changes == now.changes : when.epoch == now.epoch;
}

/* Evicts w for another caller: if w is in its first place and valid, it moves to its second. */
static inline void mw_caller_make_way(struct mw_shard *t, const struct mw_caller *w)
{
	uintptr_t pc = w->id == MW_CALLER_SKIP ? w->pc - 1 : w->pc;
	struct mw_caller_time when = { w->changes, *mw_caller_epoch(t, w) };

	if (pc && w == &t->callers[mw_caller_slot(t, pc)] && mw_caller_valid(pc, when))
		(void)mw_caller_fill(t, &t->callers[mw_caller_second(t, pc)], w->pc, w->id, when);
}

/* Moves pc's entry from its second place w back to its first; returns the entry now, or NULL. */
static inline struct mw_caller *mw_caller_come_back(struct mw_shard *t, uintptr_t pc, struct mw_caller *w)
{
	struct mw_caller *first = &t->callers[mw_caller_slot(t, pc)];
	struct mw_caller_time when = { w->changes, *mw_caller_epoch(t, w) };
	uint32_t id = w->id;

	mw_caller_make_way(t, first); /* perhaps to w */
	if (mw_caller_fill(t, first, pc, id, when))
		return first;
	return w->pc == pc ? w : NULL;
}

/* As mw_caller_first, in pc's second place. At one call in 16 the entry moves back. */
static inline struct mw_caller *mw_caller_in_second(struct mw_shard *t, uintptr_t pc)
{
	struct mw_caller *w = &t->callers[mw_caller_second(t, pc)];

	if (w->pc != pc || !mw_says(&mw_code_changes, w->changes))
		return NULL;
	return w->allocs % 16 == 15 ? mw_caller_come_back(t, pc, w) : w;
}

/* when: taken before the id was looked up. While the gate is closed, nothing is cached. */
static inline void mw_caller_remember(struct mw_shard *t, uintptr_t pc, uint32_t id,
				      struct mw_caller_time when)
{
	struct mw_caller *w = mw_caller_find(t, pc);

	if (!w) {
		w = &t->callers[mw_caller_slot(t, pc)];
		if (w->id && mw_callers_widen(t))
			w = &t->callers[mw_caller_slot(t, pc)];
		mw_caller_make_way(t, w);
	}
	(void)mw_caller_fill(t, w, id == MW_CALLER_SKIP ? pc | 1 : pc, id, when);
}

void mw_caller_forget(uintptr_t start, uint64_t bytes);
void mw_caller_forget_all(void);
