/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alone.h - reads pages of a loaded file without mapping their neighbours.
 *
 * Where a page of a file faults, the kernel maps those around it, too: 16, or the whole of a large
 * folio. They count as the process's memory. The descriptions of frames are large, and few of their
 * pages are read. The kernel maps none beyond the mapping's end. So the page becomes a mapping of its
 * own, by a hint about read-ahead, until it was read.
 *
 * A hint changes no bytes, whatever is mapped there. The system calls are madvise(2) alone, twice for
 * each page, the first time. If one fails, the page is mapped like any other.
 *
 * Any thread and any signal handler may call. No lock, no allocation; errno is kept.
 */
#ifndef MW_CALLER_ALONE_H
#define MW_CALLER_ALONE_H

#include <stddef.h>
#include <stdint.h>

/* Before these bytes are read for the first time: few, and they may be read. */
void mw_alone(uintptr_t at, size_t bytes);
/* In a forked child, which has none of its parent's pages of files. */
void mw_alone_after_fork(void);

#endif
