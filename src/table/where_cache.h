/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * where_cache.h - makes cached callers stale.
 *
 * A thread remembers caller -> location (thread.h: wheres[]). A caller is a
 * return address or a Ruby pc; both can come to mean other code: a library
 * is closed, a method's instructions are freed. Each page of code, hashed to
 * one of MW_CODE_PAGES counters, has an epoch; a remembered caller holds
 * while the epoch is the one that it was remembered under. So forgetting
 * costs the forgetter a few adds, and nobody else anything.
 *
 * Order: the counter goes up before the memory can be used again; whoever
 * runs the new code has synchronised with who freed the old.
 */
#ifndef MW_TABLE_WHERE_CACHE_H
#define MW_TABLE_WHERE_CACHE_H

#include "own.h"
#include "thread.h"

enum { MW_CODE_PAGES = 1024 };
#define MW_WHERE_SKIP MW_CS_MASK /* "look one frame up": an <internal:…> frame */

extern MW_HIDDEN uint32_t mw_code_epoch[MW_CODE_PAGES];

static inline uint32_t *mw_code_page(uintptr_t pc)
{
	return &mw_code_epoch[(pc >> 12) % MW_CODE_PAGES];
}

/* The id remembered for pc, or MW_CS_NONE. Three loads, one line of a table. */
MW_INLINE uint32_t mw_where_recall(const struct mw_thread *t, uintptr_t pc)
{
	const struct mw_where *w = &t->wheres[(pc >> 3 ^ pc >> 13) % MW_WHERES];

	return mw_likely(w->pc == pc && w->epoch == mw_get(mw_code_page(pc))) ? w->id : MW_CS_NONE;
}

/* epoch: the page's, read before the id was found out. */
static inline void mw_where_remember(struct mw_thread *t, uintptr_t pc, uint32_t id, uint32_t epoch)
{
	struct mw_where *w = &t->wheres[(pc >> 3 ^ pc >> 13) % MW_WHERES];

	w->pc = pc;
	w->id = id;
	w->epoch = epoch;
}

void mw_where_forget(uintptr_t start, uint64_t bytes);
void mw_where_forget_all(void);

#endif
