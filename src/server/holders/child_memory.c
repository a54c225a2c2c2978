/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_memory.c - the child's own memory, and its end, also for want of memory. See child.h. */
#include "child.h"

#include <sys/mman.h>

#include "shared/sys/sys.h"

_Noreturn void mw_child_end(struct mw_walk *w, uint32_t state)
{
	__atomic_store_n(&w->found->state, state, __ATOMIC_RELEASE);
	for (;;)
		mw_sys(SYS_exit_group, 0, 0, 0, 0, 0);
}

void *mw_child_map(struct mw_walk *w, size_t bytes)
{
	void *p = mw_sys_map(bytes, MAP_PRIVATE);

	if (!p)
		mw_child_end(w, MW_FOUND_NO_MEMORY);
	return p;
}
