/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strerror.c - no lock of the C library's is held by the server when the app forks.
 *
 * libmicrohttpd asks for an error's text at each answer over a Unix socket (its
 * options for TCP are refused there), whether or not that is logged. The C library
 * takes the lock on the locale for it; a child that was forked meanwhile would
 * wait for ever as soon as it makes a locale. A quiet thread, as the
 * server's is, gets the text that needs none; all others the C library's answer.
 */
#include <string.h>

#include "track.h"

MW_EXPORT char *strerror(int error)
{
	const struct mw_thread *t = mw_state();
	const char *text;

	if (mw_next_strerror && !(t && t->quiet))
		return mw_next_strerror(error);
	text = strerrordesc_np(error);
	return (char *)(uintptr_t)(text ? text : "Unknown error");
}
