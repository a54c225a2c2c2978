/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "safe_read.h"

#include "shared/sys/sys.h"

enum { PAGE = 4096, GROUP = 32, KNOWN_BITS = 10 }; /* PAGE: or a part of one; a group has so many */

/*
 * Groups of pages in a row: the group's number above a bit for each page that was readable; 0: none. Relaxed: a word is
 * stored whole, and a bit that is lost is asked for again.
 */
static uint64_t known[1 << KNOWN_BITS];

/* Ruby's pages, stacks and libraries are often some powers of two apart. */
static inline uint64_t *known_of(uint64_t group)
{
	return &known[group * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KNOWN_BITS)];
}

static inline bool page_known(uintptr_t page)
{
	uint64_t group = page / GROUP, word = __atomic_load_n(known_of(group), __ATOMIC_RELAXED);

	return word >> GROUP == group && word >> page % GROUP & 1;
}

static __attribute__((noinline)) bool page_readable(uintptr_t page)
{
	uint64_t group = page / GROUP, bit = UINT64_C(1) << page % GROUP, word;
	uint64_t *k = known_of(group);

	if (!mw_sys_reads(page * PAGE))
		return false;
	if (group >> GROUP)
		return true; /* no user's address yet, but it would have no room */
	word = __atomic_load_n(k, __ATOMIC_RELAXED);
	__atomic_store_n(k, (word >> GROUP == group ? word : group << GROUP) | bit, __ATOMIC_RELAXED);
	return true;
}

bool mw_readable(uintptr_t p, size_t n)
{
	uintptr_t last = p + (n - 1);

	if (p < PAGE || last < p)
		return false;
	for (uintptr_t page = p / PAGE; page <= last / PAGE; page++)
		if (!page_known(page) && !page_readable(page))
			return false;
	return true;
}
