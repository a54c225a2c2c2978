/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "residency.h"

#include <sys/ioctl.h>
#include <sys/mman.h>

#include "clock.h"
#include "sys.h"

/* As in <linux/fs.h> from 6.7 on, which an older system's headers don't have. */
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct region {
	uint64_t start, end, categories;
};
#define SCAN _IOWR('f', 16, struct scan)
enum { IS_FILE = 1 << 2, IS_PRESENT = 1 << 3, IS_SWAPPED = 1 << 4, IS_ZERO = 1 << 5, IS_HUGE = 1 << 6 };

/* Bits of an entry of pagemap. */
#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_FILE (UINT64_C(1) << 61)
#define ENTRY_EXCLUSIVE (UINT64_C(1) << 56)

enum {
	STEP = 1 << 20, /* pages: a call takes some 20 ms at most */
	CALL = 64, /* a call takes as long as so many pages */
	CHECK = 1 << 16 /* pages between two looks at the clock */
};

typedef void run_fn(void *ctx, uintptr_t start, uintptr_t end, unsigned flags);

static long scan(const struct mw_residency *r, uintptr_t *from, uintptr_t end, struct region *to,
		 size_t room)
{
	struct scan s = {
		.size = sizeof(s),
		.start = *from,
		.end = end,
		.vec = (uint64_t)(uintptr_t)to,
		.vec_len = room,
		.max_pages = STEP,
		.category_anyof_mask = IS_PRESENT | IS_SWAPPED,
		.return_mask = IS_FILE | IS_PRESENT | IS_SWAPPED | IS_ZERO | IS_HUGE,
	};
	long n = mw_sys(SYS_ioctl, r->fd, (long)SCAN, mw_sys_ptr(&s), 0, 0);

	*from = s.walk_end > *from ? (uintptr_t)s.walk_end : end;
	return n;
}

void mw_residency_open(struct mw_residency *r, enum mw_residency_how best)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), end;
	uint64_t entry = 0;
	struct region one;

	*r = (struct mw_residency){
		.fd = -1, .budget = MW_RESIDENCY_BUDGET, .expected = UINT64_MAX, .page = mw_page_size()
	};
	if (best == MW_RESIDENCY_MINCORE)
		return;
	r->fd = mw_sys_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	if (r->fd < 0)
		return;
	here &= ~(uintptr_t)(r->page - 1);
	end = here + r->page;
	if (mw_sys(SYS_pread64, r->fd, mw_sys_ptr(&entry), sizeof(entry), (long)(here / r->page * 8),
		   0) == sizeof(entry) &&
	    entry & ENTRY_PRESENT)
		r->how = MW_RESIDENCY_PAGEMAP;
	if (best == MW_RESIDENCY_SCAN && scan(r, &here, end, &one, 1) == 1)
		r->how = MW_RESIDENCY_SCAN;
}

void mw_residency_close(struct mw_residency *r)
{
	if (r->fd >= 0)
		mw_sys_close(r->fd);
	r->fd = -1;
}

/* --- runs ------------------------------------------------------------------------------ */

struct runs {
	run_fn *f;
	void *ctx;
	uintptr_t start, end;
	unsigned flags; /* 0: no run yet */
};

static void flush(struct runs *run)
{
	if (run->flags)
		run->f(run->ctx, run->start, run->end, run->flags);
	run->flags = 0;
}

static void extend(struct runs *run, uintptr_t at, size_t bytes, unsigned flags)
{
	if (run->flags == flags && run->end == at) {
		run->end += bytes;
		return;
	}
	flush(run);
	run->start = at;
	run->end = at + bytes;
	run->flags = flags;
}

/* --- the three ways -------------------------------------------------------------------- */

enum { ENTRIES = 1024 };

static void spend(struct mw_residency *r, uint64_t pages)
{
	r->budget -= pages < r->budget ? pages : r->budget;
	r->since += pages + CALL;
	if (!r->until || r->since < CHECK)
		return;
	r->since = 0;
	r->late = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) >= r->until;
}

static bool search_goes_on(const struct mw_residency *r)
{
	return r->budget && r->expected && !r->late;
}

static void found(struct mw_residency *r, uint64_t bytes)
{
	if (r->expected != UINT64_MAX)
		r->expected -= bytes < r->expected ? bytes : r->expected;
}

/* Where a search that ended at `at` need not go on: all that is there was found. */
static uintptr_t reached(const struct mw_residency *r, uintptr_t at, uintptr_t end)
{
	return r->expected ? at : end;
}

static unsigned flags_in(uint64_t entry, unsigned known)
{
	unsigned flags = (entry & ENTRY_PRESENT ? MW_PAGE_PRESENT : 0) |
			 (entry & ENTRY_SWAPPED ? MW_PAGE_SWAPPED : 0) |
			 (entry & ENTRY_FILE ? MW_PAGE_FILE : 0) | (known & MW_PAGE_HUGE);

	if (flags & MW_PAGE_PRESENT && !(entry & (ENTRY_EXCLUSIVE | ENTRY_FILE)))
		flags |= MW_PAGE_SHARED;
	return flags;
}

/* known: flags of all these pages, or 0. */
static uintptr_t by_pagemap(struct mw_residency *r, uintptr_t start, uintptr_t end, unsigned known,
			    struct runs *run)
{
	uint64_t entry[ENTRIES];

	while (start < end && search_goes_on(r)) {
		size_t want = (end - start) / r->page < ENTRIES ? (end - start) / r->page : ENTRIES;
		long got = mw_sys(SYS_pread64, r->fd, mw_sys_ptr(entry), (long)(want * sizeof(*entry)),
				  (long)(start / r->page * sizeof(*entry)), 0);
		size_t n = got > 0 ? (size_t)got / sizeof(*entry) : 0;

		spend(r, want);
		for (size_t i = 0; i < n; i++, start += r->page) {
			unsigned flags = flags_in(entry[i], known);

			if (!(flags & (MW_PAGE_PRESENT | MW_PAGE_SWAPPED)))
				continue;
			extend(run, start, r->page, flags);
			found(r, flags & MW_PAGE_SHARED ? 0 : r->page);
		}
		if (n < want)
			return end; /* behind the last address */
	}
	return reached(r, start, end);
}

static uintptr_t by_scan(struct mw_residency *r, uintptr_t start, uintptr_t end, struct runs *run)
{
	struct region regions[256];

	while (start < end && search_goes_on(r)) {
		long n = scan(r, &start, end, regions, sizeof(regions) / sizeof(*regions));

		spend(r, 0);
		for (long i = 0; i < n; i++) {
			const struct region *g = &regions[i];
			unsigned flags = (g->categories & IS_PRESENT ? MW_PAGE_PRESENT : 0) |
					 (g->categories & IS_SWAPPED ? MW_PAGE_SWAPPED : 0) |
					 (g->categories & IS_FILE ? MW_PAGE_FILE : 0) |
					 (g->categories & IS_HUGE ? MW_PAGE_HUGE : 0);
			uintptr_t got;

			if (g->categories & IS_ZERO) /* the page of zeros, which is nobody's memory */
				continue;
			if (!r->sharing || !(flags & MW_PAGE_PRESENT) || flags & MW_PAGE_FILE) {
				extend(run, g->start, g->end - g->start, flags);
				spend(r, (g->end - g->start) / r->page);
			} else if ((got = by_pagemap(r, g->start, g->end, flags, run)) < g->end) {
				return got;
			}
		}
		if (n < 0)
			return end;
	}
	return reached(r, start, end);
}

static uintptr_t by_mincore(struct mw_residency *r, uintptr_t start, uintptr_t end, bool anonymous,
			    struct runs *run)
{
	unsigned char in[4096];

	while (start < end && search_goes_on(r)) {
		size_t bytes = end - start < sizeof(in) * r->page ? end - start : sizeof(in) * r->page;
		bool mapped = !mw_sys(SYS_mincore, (long)start, (long)bytes, mw_sys_ptr(in), 0, 0);

		spend(r, bytes / r->page);
		for (size_t i = 0; mapped && i < bytes / r->page; i++)
			if (in[i] & 1)
				extend(run, start + i * r->page, r->page,
				       MW_PAGE_PRESENT | (anonymous ? 0 : MW_PAGE_FILE));
		start += bytes;
	}
	return reached(r, start, end);
}

uintptr_t mw_residency_each(struct mw_residency *r, uintptr_t start, uintptr_t end, bool anonymous,
			    run_fn *f, void *ctx)
{
	struct runs run = { .f = f, .ctx = ctx };

	if (r->how == MW_RESIDENCY_SCAN)
		start = by_scan(r, start, end, &run);
	else if (r->how == MW_RESIDENCY_PAGEMAP)
		start = by_pagemap(r, start, end, 0, &run);
	else
		start = by_mincore(r, start, end, anonymous, &run);
	flush(&run);
	return start;
}
