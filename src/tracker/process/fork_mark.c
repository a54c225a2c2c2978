/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork_mark.c - tells a process that was forked past the handlers of fork.c. */
#include <sys/mman.h>

#include "process.h"
#include "shared/sys/sys.h"
#include "tracker/base/arena.h"

enum { MARK_BYTES = 4096 };

/*
 * A word that the kernel sets to 0 in a forked child. fork.c sets it again: if it is 0, this process was
 * forked past the handlers, by _Fork(3) or the system call. NULL: the kernel can't (before Linux 4.14).
 */
static uint32_t *mark;

void mw_fork_mark_make(void)
{
	void *page = mw_arena_map(MARK_BYTES, MW_ARENA_LOCATION);

	if (page && mw_sys(SYS_madvise, mw_sys_ptr(page), MARK_BYTES, MADV_WIPEONFORK, 0, 0) == 0) {
		mark = page;
		*mark = 1;
	}
}

void mw_fork_mark_set(void)
{
	if (mark)
		*mark = 1;
}

bool mw_fork_missed(void)
{
	return mark && !mw_get(mark);
}
