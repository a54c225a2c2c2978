/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "safe_read.h"

#include "shared/sys/sys.h"

enum { PAGE = 4096, KNOWN = 256 }; /* PAGE: or a part of one */

/* Numbers of pages that were readable; 0: none. Relaxed: a word is stored whole. */
static uintptr_t known[KNOWN];

static bool page_readable(uintptr_t page)
{
	uintptr_t *k = &known[page % KNOWN];

	if (__atomic_load_n(k, __ATOMIC_RELAXED) == page)
		return true;
	if (!mw_sys_reads(page * PAGE))
		return false;
	__atomic_store_n(k, page, __ATOMIC_RELAXED);
	return true;
}

bool mw_readable(uintptr_t p, size_t n)
{
	uintptr_t last = p + (n - 1);

	if (p < PAGE || last < p)
		return false;
	for (uintptr_t page = p / PAGE; page <= last / PAGE; page++)
		if (!page_readable(page))
			return false;
	return true;
}
