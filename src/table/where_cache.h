/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * where_cache.h - makes cached callers stale.
 *
 * A thread remembers caller -> location (thread.h: wheres[]). A caller is a
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
#ifndef MW_TABLE_WHERE_CACHE_H
#define MW_TABLE_WHERE_CACHE_H

#include "own.h"
#include "thread.h"

enum { MW_CODE_PAGES = 1024 };
#define MW_WHERE_SKIP MW_CS_MASK /* "look one frame up": an <internal:…> frame */

extern MW_HIDDEN uint32_t mw_code_epoch[MW_CODE_PAGES];
extern MW_HOT uint32_t mw_code_changes;

/* When a caller is asked for. */
struct mw_where_time {
	uint32_t changes, epoch;
};

static inline struct mw_where_time mw_where_time(uintptr_t pc)
{
	struct mw_where_time t;

	t.changes = __atomic_load_n(&mw_code_changes, __ATOMIC_ACQUIRE); /* before its page's */
	t.epoch = __atomic_load_n(&mw_code_epoch[(pc >> 12) % MW_CODE_PAGES], __ATOMIC_ACQUIRE);
	return t;
}

/*
 * Where pc is remembered, if it is. Ruby's instructions are words, and those
 * of one method lie in a row: the next one is mostly in the same cache line.
 */
static inline uint32_t mw_where_slot(uintptr_t pc)
{
	return (pc >> 3) % MW_WHERES;
}

/* What is remembered for pc, a location to count at; NULL: nothing, or it must be looked up. */
MW_INLINE struct mw_where *mw_where_at_once(struct mw_thread *t, uintptr_t pc)
{
	enum { SHIFT = 5 - 3 }; /* as mw_where_slot, times the size of an entry: 32 */
	struct mw_where *w = (struct mw_where *)mw_thread_on(t, offsetof(struct mw_thread, wheres),
							     pc << SHIFT & (MW_WHERES - 1) << 5);

	_Static_assert(sizeof(*w) == 32, "SHIFT");
	return mw_likely(w->pc == pc && mw_says(&mw_code_changes, w->changes)) ? w : NULL;
}

/*
 * The id remembered for pc, perhaps MW_WHERE_SKIP; or MW_CS_NONE. A frame to be
 * skipped is remembered under an address that no frame has, so that at_once
 * never finds it.
 */
static inline uint32_t mw_where_recall(struct mw_thread *t, uintptr_t pc)
{
	uint32_t i = mw_where_slot(pc);
	struct mw_where *w = &t->wheres[i];
	struct mw_where_time now;

	if (w->pc != (w->id == MW_WHERE_SKIP ? pc | 1 : pc))
		return MW_CS_NONE;
	now = mw_where_time(pc);
	if (t->where_epochs[i] != now.epoch)
		return MW_CS_NONE;
	w->changes = now.changes;
	return w->id;
}

/* when: taken before the id was found out. While a reader reads, nothing is remembered. */
static inline void mw_where_remember(struct mw_thread *t, uintptr_t pc, uint32_t id,
				     struct mw_where_time when)
{
	uint32_t i = mw_where_slot(pc);
	struct mw_where *w = &t->wheres[i];

	if (w->id != id && !mw_where_claim(t, w, id))
		return;
	w->pc = id == MW_WHERE_SKIP ? pc | 1 : pc;
	w->changes = when.changes;
	t->where_epochs[i] = when.epoch;
}

void mw_where_forget(uintptr_t start, uint64_t bytes);
void mw_where_forget_all(void);

#endif
