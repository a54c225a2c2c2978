/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "own_descriptors.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { CLOSE_UNSHARE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE, which not all headers have */

bool mw_can_own_descriptors(void)
{
#ifdef SYS_close_range
	return !syscall(SYS_close_range, ~0u, ~0u, 0); /* an empty range: closes nothing */
#else
	return false;
#endif
}

bool mw_own_descriptors(int keep)
{
#ifdef SYS_close_range
	if (keep < 0)
		return !syscall(SYS_close_range, 3u, ~0u, CLOSE_UNSHARE);
	if (keep > 3 && syscall(SYS_close_range, 3u, (unsigned)keep - 1, CLOSE_UNSHARE))
		return false;
	return !syscall(SYS_close_range, (unsigned)keep + 1, ~0u, keep > 3 ? 0 : CLOSE_UNSHARE);
#else
	(void)keep;
	return false;
#endif
}
