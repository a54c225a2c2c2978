/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maintain.h - what maintain.c, which decides when the table grows and is
 * swept, and callsite.c, which has it, know of each other; for them alone.
 */
#ifndef MW_TABLE_MAINTAIN_H
#define MW_TABLE_MAINTAIN_H

#include "callsite.h"

/*
 * Buckets of the locations' table: few at first, so that `true` pays for few.
 * Not beyond 8192: liburcu starts threads to grow a table further.
 */
enum { MW_TABLE_BUCKETS_FIRST = 256, MW_TABLE_BUCKETS_MAX = 8192 };

/* callsite.c */
extern MW_HIDDEN bool mw_texts_full; /* relaxed: since the last sweep no room was found for some path */
uint32_t mw_callsites_wanted(void); /* locations ever added, or wanted in vain; wraps */
void mw_callsites_resize(uint32_t buckets); /* a power of 2 up to MW_TABLE_BUCKETS_MAX; under mw_maintenance */

/*
 * maintain.c: whether liburcu will find what memory it needs for its tables,
 * their buckets and its registry, now: without, it abort()s.
 */
bool mw_memory_is_there(void);

#endif
