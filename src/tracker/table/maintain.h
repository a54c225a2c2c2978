/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maintain.h - between maintain.c and callsite.c; for them alone.
 *
 * maintain.c decides when the table grows and is swept; callsite.c has the table.
 */
#pragma once

#include "callsite.h"

/*
 * Buckets of the locations' table: few at first, since short processes like `true` pay for
 * them. Not beyond 8192: liburcu starts threads to grow a table further.
 */
enum { MW_TABLE_BUCKETS_FIRST = 256, MW_TABLE_BUCKETS_MAX = 8192 };

/* callsite.c */
extern MW_HIDDEN bool mw_texts_full; /* relaxed: some path found no room since the last sweep */
uint32_t mw_callsites_wanted(void); /* locations ever added, or refused; wraps */
/* buckets: a power of 2 up to MW_TABLE_BUCKETS_MAX. Under mw_maintenance. */
void mw_callsites_resize(uint32_t buckets);
