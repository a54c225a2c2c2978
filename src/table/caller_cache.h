/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * caller_cache.h - makes cached callers stale.
 *
 * A thread remembers caller -> location (shard.h: callers[]). A caller is a
 * return address or a Ruby pc; both can come to mean other code: a library
 * is closed, a method's instructions are freed. Each page of code, hashed to
 * one of MW_CODE_PAGES counters, has an epoch; a remembered caller holds
 * while the epoch is the one that it was remembered under. A counter of all
 * changes is looked at first: while it stands still, which is mostly, nothing
 * became stale. So forgetting costs the forgetter a few adds, and each caller
 * one look at its page.
 *
 * Order: the counters go up, the page's first, before the memory can be used
 * again; whoever runs the new code has synchronised with who freed the old.
 */
#ifndef MW_TABLE_CALLER_CACHE_H
#define MW_TABLE_CALLER_CACHE_H

#include "base/arena.h"
#include "shard.h"

enum { MW_CODE_PAGES = 1024 };
#define MW_CALLER_SKIP MW_CS_MASK /* "look one frame up": an <internal:…> frame, or one without a line */

extern MW_HIDDEN uint32_t mw_code_epoch[MW_CODE_PAGES];
extern MW_HOT uint32_t mw_code_changes;

/* When a caller is asked for. */
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
 * Where pc is remembered, if it is. Ruby's instructions are words, and those
 * of one method lie in a row: the next one is mostly in the same cache line.
 */
static inline uint32_t mw_caller_slot(uintptr_t pc)
{
	return (pc >> 3) % MW_CALLERS;
}

/*
 * Where it is once another caller has taken that place. Where a library's or a
 * method's code lies is chance, so in every process some callers share a place:
 * without a second one they would be found out again at each call.
 */
static inline uint32_t mw_caller_second(uintptr_t pc)
{
	return (mw_caller_slot(pc) ^ ((uint32_t)(pc >> 13) | 1)) % MW_CALLERS;
}

/* Is it pc's? A frame to be skipped is remembered under an address that no frame has. */
static inline bool mw_caller_is(const struct mw_caller *w, uintptr_t pc)
{
	return w->pc == (w->id == MW_CALLER_SKIP ? pc | 1 : pc);
}

/* pc's entry, which may be out of date, or NULL. */
static inline struct mw_caller *mw_caller_find(struct mw_shard *t, uintptr_t pc)
{
	struct mw_caller *w = &t->callers[mw_caller_slot(pc)];

	if (mw_caller_is(w, pc))
		return w;
	w = &t->callers[mw_caller_second(pc)];
	return mw_caller_is(w, pc) ? w : NULL;
}

/* What is remembered for pc in its first place, a location to count at; NULL: nothing, or it must be looked up. */
MW_INLINE struct mw_caller *mw_caller_first(struct mw_shard *t, uintptr_t pc)
{
	enum { SHIFT = 5 - 3 }; /* as mw_caller_slot, times the size of an entry: 32 */
	struct mw_caller *w = (struct mw_caller *)mw_shard_on(t, offsetof(struct mw_shard, callers),
							      pc << SHIFT & (MW_CALLERS - 1) << 5);

	_Static_assert(sizeof(*w) == 32, "SHIFT");
	return mw_likely(w->pc == pc && mw_says(&mw_code_changes, w->changes)) ? w : NULL;
}

/* The id remembered for pc, perhaps MW_CALLER_SKIP, which at_once and at_second never find; or MW_CS_NONE. */
static inline uint32_t mw_caller_recall(struct mw_shard *t, uintptr_t pc)
{
	struct mw_caller *w = mw_caller_find(t, pc);
	struct mw_caller_time now;

	if (!w)
		return MW_CS_NONE;
	now = mw_caller_time(pc);
	if (t->caller_epochs[w - t->callers] != now.epoch)
		return MW_CS_NONE;
	w->changes = now.changes;
	return w->id;
}

/*
 * w is pc's from here on, in which a frame to be skipped has its lowest bit set. False: it
 * isn't, since a reader reads. when: what the id holds for
 */
static inline bool mw_caller_fill(struct mw_shard *t, struct mw_caller *w, uintptr_t pc, uint32_t id,
				  struct mw_caller_time when)
{
	if (w->id != id && !mw_caller_claim(t, w, id))
		return false;
	w->pc = pc;
	w->changes = when.changes;
	t->caller_epochs[w - t->callers] = when.epoch;
	return true;
}

/* What is in its first place makes way for another caller: it goes to its second one, if it holds. */
static inline void mw_caller_make_way(struct mw_shard *t, const struct mw_caller *w)
{
	uintptr_t pc = w->id == MW_CALLER_SKIP ? w->pc - 1 : w->pc;
	struct mw_caller_time when = { w->changes, t->caller_epochs[w - t->callers] };

	if (pc && w == &t->callers[mw_caller_slot(pc)] && when.epoch == mw_caller_time(pc).epoch)
		(void)mw_caller_fill(t, &t->callers[mw_caller_second(pc)], w->pc, w->id, when);
}

/* pc, whose second place is w, gets its first one back; where it is remembered now, or NULL. */
static inline struct mw_caller *mw_caller_come_back(struct mw_shard *t, uintptr_t pc, struct mw_caller *w)
{
	struct mw_caller *first = &t->callers[mw_caller_slot(pc)];
	struct mw_caller_time when = { w->changes, t->caller_epochs[w - t->callers] };
	uint32_t id = w->id;

	mw_caller_make_way(t, first); /* perhaps to w */
	if (mw_caller_fill(t, first, pc, id, when))
		return first;
	return w->pc == pc ? w : NULL;
}

/* As mw_caller_first, in pc's second place. Who is there for long comes back: at one call in 16. */
static inline struct mw_caller *mw_caller_in_second(struct mw_shard *t, uintptr_t pc)
{
	struct mw_caller *w = &t->callers[mw_caller_second(pc)];

	if (w->pc != pc || !mw_says(&mw_code_changes, w->changes))
		return NULL;
	return w->allocs % 16 == 15 ? mw_caller_come_back(t, pc, w) : w;
}

/* when: taken before the id was found out. While a reader reads, nothing is remembered. */
static inline void mw_caller_remember(struct mw_shard *t, uintptr_t pc, uint32_t id,
				      struct mw_caller_time when)
{
	struct mw_caller *w = mw_caller_find(t, pc);

	if (!w) {
		w = &t->callers[mw_caller_slot(pc)];
		mw_caller_make_way(t, w);
	}
	(void)mw_caller_fill(t, w, id == MW_CALLER_SKIP ? pc | 1 : pc, id, when);
}

void mw_caller_forget(uintptr_t start, uint64_t bytes);
void mw_caller_forget_all(void);

#endif
