/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strerror.c - no lock of the C library's is held by the server when the app forks.
 *
 * libmicrohttpd asks for an error's text at each answer over a Unix socket (its
 * options for TCP are refused there), whether or not that is logged. The C library
 * takes the lock on the locale for it; a child that was forked meanwhile would
 * wait for ever as soon as it makes a locale. A thread of ours gets the text that needs
 * none; every thread of the app's the C library's answer, quiet (Mwrap.quiet) or not.
 */
#include "base/sys.h"
#include "base/own_thread.h"
#include "track/track.h"

MW_EXPORT char *strerror(int error)
{
	if (mw_next_strerror && !mw_own_thread_here)
		return mw_next_strerror(error);
	return (char *)(uintptr_t)mw_sys_error(error);
}
