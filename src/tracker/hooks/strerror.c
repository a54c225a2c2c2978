/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strerror.c - keeps the server from holding a C library lock when the app forks.
 *
 * libmicrohttpd asks for an error's text at each answer over a Unix socket, logged or
 * not, since such a socket refuses its options for TCP. The C library takes the lock on
 * the locale for that text. A child forked meanwhile would wait for ever as soon as it
 * makes a locale. So threads of ours get a text that needs no lock. The app's threads get
 * the C library's answer, quiet (Mwrap.quiet) or not.
 */
#include "shared/sys/sys.h"
#include "tracker/base/own_thread.h"
#include "tracker/real/real.h"

MW_EXPORT char *strerror(int error)
{
	if (mw_next.strerror && !mw_own_thread_here)
		return mw_next.strerror(error);
	return (char *)(uintptr_t)mw_sys_error(error);
}
