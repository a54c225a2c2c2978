/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alone.c - see alone.h. */
#include "alone.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/atomics.h"
#include "base/sys.h"

/* Where pages are larger, the hints fail, or are about a whole page. */
enum { PAGE = 4096, IN_GROUP = 64, GROUPS = 128 };

/*
 * Pages that were read: a bit for each of a group of 64. Relaxed: two threads at once may mix up two
 * groups, so that a page is mapped with its neighbours, or is asked for twice.
 */
static struct {
	uint64_t group, pages;
} seen[GROUPS];
static uint64_t forks; /* goes up in a child: no group of its parent's is one of its own. Relaxed */

/* Was the page read before? It is from here on. */
static bool was_seen(uintptr_t page)
{
	uint64_t group = page / (PAGE * IN_GROUP) + (mw_get(&forks) << 48);
	uint64_t bit = UINT64_C(1) << page / PAGE % IN_GROUP, pages;
	size_t at = (group ^ group >> 7) % GROUPS;

	pages = mw_get(&seen[at].group) == group ? mw_get(&seen[at].pages) : 0;
	mw_set(&seen[at].group, group);
	mw_set(&seen[at].pages, pages | bit);
	return pages & bit;
}

static void hint(uintptr_t page, int what)
{
	(void)mw_sys(SYS_madvise, (long)page, PAGE, what, 0, 0);
}

void mw_alone(uintptr_t at, size_t bytes)
{
	uintptr_t last = (at + bytes - 1) & -(uintptr_t)PAGE;
	int e = errno;

	for (uintptr_t page = at & -(uintptr_t)PAGE; bytes <= PAGE && page <= last; page += PAGE) {
		if (was_seen(page))
			continue;
		hint(page, MADV_RANDOM);
		(void)*(volatile const char *)(page < at ? at : page);
		hint(page, MADV_NORMAL);
	}
	errno = e;
}

void mw_alone_after_fork(void)
{
	mw_add(&forks, 1);
}
