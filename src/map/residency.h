/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * residency.h - which pages of this process are in memory.
 *
 * The kernel is asked in the cheapest way that it has: PAGEMAP_SCAN (Linux 6.7), 17 ns a page and nothing
 * for what is absent; else /proc/self/pagemap, 96 ns a page; else mincore(2), which knows neither swap
 * nor sharing. It reads no page.
 */
#ifndef MW_MAP_RESIDENCY_H
#define MW_MAP_RESIDENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MW_PAGE_PRESENT = 1,
	MW_PAGE_SWAPPED = 2,
	MW_PAGE_FILE = 4,
	MW_PAGE_HUGE = 8,
	MW_PAGE_SHARED = 16
};

enum mw_residency_how { MW_RESIDENCY_MINCORE, MW_RESIDENCY_PAGEMAP, MW_RESIDENCY_SCAN };

struct mw_residency {
	enum mw_residency_how how;
	int fd; /* -1: none */
	size_t page;
	bool sharing; /* MW_PAGE_SHARED is wanted: this costs a reading of pagemap */
	uint64_t budget; /* pages that pagemap may still be read for: without PAGEMAP_SCAN absent ones cost, too */
};

#define MW_RESIDENCY_BUDGET (UINT64_C(32) << 20) /* pages: some seconds at worst */

/* Chooses the best way that works, `best` at most. Close it. */
void mw_residency_open(struct mw_residency *, enum mw_residency_how best);
void mw_residency_close(struct mw_residency *);

/*
 * Calls f with runs of pages that are in memory or swapped out, by address. Pages of [start, end), which
 * are whole, that aren't mapped any more are left out. anonymous: for mincore(2), which can't tell.
 */
void mw_residency_each(struct mw_residency *, uintptr_t start, uintptr_t end, bool anonymous,
		       void (*f)(void *ctx, uintptr_t start, uintptr_t end, unsigned flags), void *ctx);

#endif
