/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * residency.h - the resident pages of this process.
 *
 * The kernel is asked in the cheapest way that it has: PAGEMAP_SCAN (Linux 6.7), 17 ns a page and nothing
 * for what is absent; else /proc/self/pagemap, 1 to 100 ns a page; else mincore(2), which knows neither swap
 * nor sharing. With the last two, absent pages cost time, too: so there is a budget. It reads no page.
 */
#pragma once

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
	uint64_t budget; /* pages that may still be looked at */
	uint64_t until; /* this thread's CPU time, in ns, at which it stops; 0: it has as long as it takes */
	bool late; /* it is that time */
	/*
	 * Bytes that are known to be in memory; UINT64_MAX: not known. Once it found as many, it stops looking. It counts
	 * only pages that are surely nobody else's and no page of zeros, so it may go on, but never stops too early.
	 */
	uint64_t expected; /* the rest of them */
	uint64_t since; /* pages since it read the clock */
};

#define MW_RESIDENCY_BUDGET (UINT64_C(256) << 20) /* pages: 1 TiB of pages of 4 KiB */

/* Chooses the best way that works, `best` at most. Close it. */
void mw_residency_open(struct mw_residency *, enum mw_residency_how best);
void mw_residency_close(struct mw_residency *);

/*
 * Calls f with runs of pages that are in memory or swapped out, by address. Pages of [start, end), which
 * are whole, that aren't mapped any more are left out. anonymous: for mincore(2), which can't tell.
 * Returns where it stopped: end, or where the budget or the time was used up. There it can go on later.
 */
uintptr_t mw_residency_each(struct mw_residency *, uintptr_t start, uintptr_t end, bool anonymous,
			    void (*f)(void *ctx, uintptr_t start, uintptr_t end, unsigned flags),
			    void *ctx);
