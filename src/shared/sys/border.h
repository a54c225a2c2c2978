/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * border.h - keeps code apart that most processes never run.
 *
 * Where a page of a file faults, the kernel maps those around it, too: 16, or the whole of a large
 * folio. They count as the process's memory. The kernel maps none beyond the mapping's end. So each
 * library's code that runs in any process comes first (GNUmakefile), then a page, and then the rest. A
 * hint makes that page a mapping of its own.
 */
#pragma once

#include <sys/mman.h>

#include "sys.h"

/* The page, of the library that asks. */
extern char mw_border_page[] __attribute__((visibility("hidden")));

/* As early as can be: a page that comes before may come with others from beyond the border. */
static inline void mw_border(void)
{
	/* where pages are larger, the hint fails, or is about a whole page */
	(void)mw_sys_plain(SYS_madvise, mw_sys_ptr(mw_border_page), 4096, MADV_RANDOM, 0, 0);
}
