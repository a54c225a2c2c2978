/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * controls.c - POST: the requests that change something. routes.c has checked
 * that the request may. A browser goes back to the page it came from; a program
 * gets a line with the result.
 */
#include <string.h>
#include <unistd.h>

#include "server/http/origin.h"
#include "pages.h"

bool mw_read_only(const struct mw_call *call)
{
	return call->api->options()->read_only || (call->req->no_post && !call->req->ask_who);
}

static bool wants_html(const struct mw_request *req)
{
	const char *accept = req->header ? req->header(req->ctx, "Accept") : NULL;

	return accept && strstr(accept, "text/html");
}

bool mw_wants_json(const struct mw_request *req)
{
	const char *accept = req->header ? req->header(req->ctx, "Accept") : NULL;

	return accept && strstr(accept, "application/json");
}

/* The page that the browser came from, if it is one of ours; else NULL. */
static const char *own_page(const struct mw_request *req)
{
	const char *back = mw_own_referer(req);
	size_t n = strlen(req->base);

	return back && !strncmp(back, req->base, n) && strchr("/?", back[n]) ? back : NULL;
}

void mw_done(struct mw_call *call, const char *line, const char *said)
{
	struct mw_buf *to = &call->res->location, *body = &call->res->body;
	const char *back;

	mw_reply(call, 200, line);
	if (mw_wants_json(call->req)) {
		mw_reply_form(call, MW_FORM_JSON);
		body->n = 0;
		mw_buf_str(body, "{\"ok\":true");
		mw_json_str(body, "said", said);
		mw_json_i64(body, "pid", getpid());
		mw_buf_str(body, "}\n");
		return;
	}
	if (!wants_html(call->req))
		return;
	back = own_page(call->req);
	if (back) {
		mw_buf_str(to, back);
	} else {
		mw_buf_str(to, call->req->base);
		mw_buf_str(to, "/");
	}
	mw_buf_add(to, "", 1);
	call->res->status = 303;
}

void mw_done_text(struct mw_call *call, struct mw_buf *line)
{
	mw_buf_add(line, "", 1);
	if (line->failed)
		call->res->body.failed = true;
	else
		mw_done(call, line->p, line->p);
}

void mw_page_reset(struct mw_call *call)
{
	call->api->reset();
	mw_site_event(call->req->site, "reset", NULL);
	mw_done(call, "reset: the counters start again from zero",
		"The counters start again from zero; what is live stays known.");
}

void mw_site_take_event(struct mw_site *site, const char *kind, const char *text)
{
	if (!strcmp(kind, "trim"))
		mw_maps_age(&site->maps);
	mw_site_event(site, kind, text);
}

void mw_call_event(struct mw_call *call, const char *kind, const char *text)
{
	if (call->req->site) {
		mw_site_take_event(call->req->site, kind, text);
	} else if (call->req->later) {
		call->res->event = kind;
		if (text)
			mw_buf_add(&call->res->event_text, text, strlen(text) + 1);
	}
}

bool mw_trim(struct mw_call *call)
{
	bool gave = call->api->trim();

	mw_call_event(call, "trim", gave ? NULL : "no memory to give back");
	return gave;
}

void mw_page_trim(struct mw_call *call)
{
	if (mw_trim(call))
		mw_done(call, "trim: memory was given back to the system",
			"Memory was given back to the system.");
	else
		mw_done(call, "trim: there was no memory to give back",
			"There was no memory to give back.");
}

void mw_page_pause(struct mw_call *call)
{
	call->api->pause(true);
	mw_site_event(call->req->site, "pause", NULL);
	mw_done(call, "pause: tracking is off; what is live stays known, and its frees are counted",
		"Tracking is off; what is live stays known, and its frees are counted.");
}

void mw_page_exact(struct mw_call *call)
{
	if (!call->api->count(true, 0)) {
		mw_reply(call, 503, "nothing is tracked in this process");
		return;
	}
	mw_site_event(call->req->site, "exact", NULL);
	mw_done(call, "exact: every block is counted from now on; what lived before stays an estimate",
		"Every block is counted from now on. Memory from before stays an estimate.");
}

void mw_page_sampled(struct mw_call *call)
{
	if (!call->api->count(false, 0)) {
		mw_reply(call, 503,
			 "allocations can't be sampled now: a recording is running, or a thread is still inside the tracker: try again");
		return;
	}
	mw_site_event(call->req->site, "sampled", NULL);
	mw_done(call, "sampled: allocations are sampled from now on; all figures are estimates",
		"Allocations are sampled from now on. All figures are estimates.");
}

void mw_page_resume(struct mw_call *call)
{
	call->api->pause(false);
	mw_site_event(call->req->site, "resume", NULL);
	mw_done(call, "resume: tracking is on", "Tracking is on.");
}
