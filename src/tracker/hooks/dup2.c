/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dup2.c - keeps the server's opening of files from failing the app's dup2.
 *
 * Linux answers EBUSY if another thread is just then opening a file at that number. Daemons put
 * files at numbers that they don't know to be free, and don't expect EBUSY. Our threads open
 * files in microseconds, so the call is repeated.
 *
 * The number may also be one that a thread of the app's opens for long, such as a FIFO without a
 * writer. The call fails then as it would without us, after MW_BUSY_NAPS.
 *
 * Signal handlers and children of vfork call these: no lock, no allocation, no state.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "shared/sys/compiler.h"
#include "shared/sys/sys.h"
#include "tracker/real/real.h"

enum { MW_BUSY_NAPS = 1000 }; /* of a millisecond each */

/* Is the call to be repeated? Naps first. `saved`: errno from before the call. */
static bool still_busy(int result, int *naps, int saved)
{
	if (mw_likely(result >= 0) || errno != EBUSY || ++*naps > MW_BUSY_NAPS)
		return false;
	mw_sys_nap();
	errno = saved;
	return true;
}

/* The next functions may not be known yet: any code may call these at any time. */
static int next_dup3(int from, int to, int flags)
{
	if (mw_likely(mw_next.dup3 != NULL))
		return mw_next.dup3(from, to, flags);
	return (int)mw_sys(SYS_dup3, from, to, flags, 0, 0);
}

static int next_dup2(int from, int to)
{
	if (mw_likely(mw_next.dup2 != NULL))
		return mw_next.dup2(from, to);
	if (from == to)
		return fcntl(from, F_GETFD) < 0 ? -1 : to;
	return next_dup3(from, to, 0);
}

MW_EXPORT int dup2(int from, int to)
{
	int saved = errno, naps = 0, result;

	do {
		result = next_dup2(from, to);
	} while (still_busy(result, &naps, saved));
	return result;
}

MW_EXPORT int dup3(int from, int to, int flags)
{
	int saved = errno, naps = 0, result;

	do {
		result = next_dup3(from, to, flags);
	} while (still_busy(result, &naps, saved));
	return result;
}
