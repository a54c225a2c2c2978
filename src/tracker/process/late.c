/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "late.h"

#include <stdio.h>
#include <string.h>

#include "named.h"
#include "process.h"
#include "tracker/caller/ruby/frame.h"
#include "tracker/track/track.h"

/* Only the server reads these, and none runs yet. */
static void take(const struct mw_options *from)
{
	mw_options.socket = from->socket;
	mw_options.socket_dir = from->socket_dir;
	mw_options.socket_mode = from->socket_mode;
	mw_options.socket_group = from->socket_group;
	mw_options.socket_gid = from->socket_gid;
	mw_options.listen = from->listen;
	memcpy(mw_options.listen_host, from->listen_host, sizeof(from->listen_host));
	mw_options.listen_port = from->listen_port;
	mw_options.listen_far = from->listen_far;
	mw_options.token_file = from->token_file;
	mw_options.read_only = from->read_only;
	mw_options.source = from->source;
	mw_options.history = from->history;
	mw_options.proof_off = from->proof_off;
	mw_options.exact_growth = from->exact_growth;
	mw_options.objects = from->objects;
}

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
	take(&late);
	mw_threads_decide();
	mw_quiet_enter();
	mw_server_start();
	mw_server_go();
	mw_quiet_leave();
	return true;
}
