/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace.c - /trace.json, POST /trace/start and /trace/stop: recordings for mwrapctl replay.
 *
 * A client of the Unix socket, or a user of the Rack app, may name the file. Over TCP the tracker
 * names it. In any case it is a new file: none is ever overwritten.
 */
#include <string.h>

#include "shared/sys/clock.h"
#include "pages.h"

static void state(struct mw_call *call)
{
	mw_reply(call, 200, "");
	mw_reply_form(call, MW_FORM_JSON);
	call->res->body.n = 0;
	mw_render_recording(&call->res->body, call->api->record_state ? call->api->record_state() : NULL,
			    mw_now_ns());
}

void mw_page_trace(struct mw_call *call)
{
	state(call);
}

static bool option(struct mw_options *o, const char *key, const struct mw_params *p, enum mw_param param,
		   struct mw_buf *why)
{
	char err[MW_ERROR_MAX];

	if (!p->v[param].s || mw_option_parse(o, key, p->v[param].s, err))
		return true;
	mw_buf_str(why, err);
	return false;
}

#define TCP_MAX (UINT64_C(64) << 20) /* bytes of a recording that is asked for over TCP without `max` */

/* 0, or a status with a reason. token: requests present one. */
static int read_how(struct mw_record_how *how, struct mw_options *o, const struct mw_params *p,
		    enum mw_peer peer, bool token, struct mw_buf *why)
{
	const char *path = p->v[MW_PARAM_PATH].s;
	bool tcp = peer != MW_PEER_UNIX && peer != MW_PEER_RACK;

	if (tcp && !token) { /* any user of the machine may ask */
		mw_buf_str(why,
			   "trace/start: it can fill a disk, so over TCP it needs token_file: ask the Unix socket");
		return 403;
	}
	if (path && tcp) {
		mw_buf_str(why, "path: not over TCP: leave it out, and the tracker names the file");
		return 403;
	}
	if (path && *path != '/') {
		mw_buf_str(why, "path: must begin with /");
		return 400;
	}
	if (!option(o, "trace_path", p, MW_PARAM_PATH, why) ||
	    !option(o, "trace_max", p, MW_PARAM_MAX, why) ||
	    !option(o, "trace_seconds", p, MW_PARAM_SECONDS, why) ||
	    !option(o, "trace_full", p, MW_PARAM_FULL, why) ||
	    !option(o, "trace_clock", p, MW_PARAM_CLOCK, why))
		return 400;
	*how = (struct mw_record_how){ .path = path,
				       .size_max = tcp && !o->trace_max ? TCP_MAX : o->trace_max,
				       .seconds_max = o->trace_seconds,
				       .fine = o->trace_fine,
				       .wait = !o->trace_drop };
	return 0;
}

/* A line with the file's path, or the state if JSON is asked for. */
static void say(struct mw_call *call, const char *event, const char *line)
{
	const struct mw_record_state *s = call->api->record_state();
	struct mw_buf said = { 0 };

	mw_call_event(call, event, s->path);
	if (mw_wants_json(call->req)) {
		state(call);
		return;
	}
	mw_buf_str(&said, line);
	mw_buf_utf8(&said, s->path, strlen(s->path));
	mw_done_text(call, &said);
	mw_buf_free(&said);
}

static void start_trace(struct mw_call *call, const struct mw_record_how *how)
{
	char err[MW_ERROR_MAX];

	if (!call->api->record_start)
		mw_reply(call, 503, "nothing is tracked in this process");
	else if (!call->api->record_start(how, err))
		mw_reply(call, 409, err);
	else
		say(call, "trace start", "trace/start: recording into ");
}

void mw_page_trace_start(struct mw_call *call)
{
	const struct mw_options *given = call->api->options();
	struct mw_options o = {
		.trace_max = given->trace_max,
		.trace_seconds = given->trace_seconds,
		.trace_drop = given->trace_drop,
		.trace_fine = given->trace_fine,
	};
	struct mw_record_how how;

	if (!mw_refused(call,
			read_how(&how, &o, &call->params, call->req->peer, given->token_file, &call->why)))
		start_trace(call, &how);
}

void mw_page_trace_stop(struct mw_call *call)
{
	const struct mw_record_state *s = call->api->record_state ? call->api->record_state() : NULL;

	if (!s || __atomic_load_n(&s->is, __ATOMIC_ACQUIRE) == MW_RECORD_ENDED)
		mw_reply(call, 409, "no recording is under way");
	else if (!call->api->record_stop())
		mw_reply(call, 503, "the recording ends, but its file isn't complete yet: ask /trace.json");
	else
		say(call, "trace stop", "trace/stop: the recording is in ");
}
