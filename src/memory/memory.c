/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory.c - see areas.h. */
#include <sys/mman.h>
#include <unistd.h>

#include "areas.h"
#include "shared/sys/sys.h"

/* By the system call: the tracker's mmap, and other preloads', aren't for this. */
void *mw_map_memory(size_t bytes)
{
	void *p = mw_sys_map(bytes ? bytes : 1, MAP_PRIVATE);

	if (p)
		mw_sys(SYS_madvise, mw_sys_ptr(p), (long)bytes, MADV_DONTDUMP, 0, 0);
	return p;
}

void mw_map_memory_free(void *p, size_t bytes)
{
	mw_sys_unmap(p, bytes ? bytes : 1);
}
