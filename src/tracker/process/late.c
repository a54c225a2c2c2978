/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "late.h"

#include <stdio.h>

#include "named.h"
#include "process.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/track/track.h"

bool mw_serve_late(const char *options, char *err)
{
	static struct mw_options late; /* mw_options points into its text from then on */
	const char *why = NULL, *running = "the tracker is running already, since the process's start";

	if (mw_options_serve(&mw_options) || mw_life != MW_ON)
		why = running;
	else if (mw_get(&mw_ruby.how) == MW_RUBY_NONE)
		why = "Ruby's functions: not found: start the program with a server";
	else if (!mw_options_parse(&late, options, err))
		return false;
	else if (!mw_options_serve(&late))
		why = running;
	if (why) {
		snprintf(err, MW_ERROR_MAX, "%s", why);
		return false;
	}
	mw_options_take_server(&mw_options, &late);
	mw_threads_decide();
	mw_quiet_enter();
	mw_server_start();
	mw_server_go();
	mw_quiet_leave();
	return true;
}
