/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory.c - see areas.h. */
#include <sys/mman.h>
#include <unistd.h>

#include "areas.h"
#include "shared/sys/sys.h"

/* By the system call: the tracker's mmap, and other preloads', aren't for this. */
void *mw_map_memory(size_t bytes)
{
	long p = syscall(SYS_mmap, NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);

	if (p == -1)
		return NULL;
	mw_sys(SYS_madvise, p, (long)bytes, MADV_DONTDUMP, 0, 0);
	return (void *)p; // NOLINT(performance-no-int-to-ptr)
}

void mw_map_memory_free(void *p, size_t bytes)
{
	if (p)
		mw_sys(SYS_munmap, mw_sys_ptr(p), (long)(bytes ? bytes : 1), 0, 0, 0);
}
