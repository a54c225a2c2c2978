/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack_family.c - behind MwrapRack, too, each process of a family answers for the others
 * (server/family/family.h), if this one has a server with a socket that they know. /PID/ is that
 * process, independent of the worker that a request came to.
 *
 * A separate thread asks other processes. It has its own descriptor table: a child that the
 * application forks meanwhile inherits none of its connections. The caller waits for it without the
 * GVL, for MW_RELAY_MS at most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/sys/own_descriptors.h"
#include "rack.h"

#define STACK ((size_t)256 << 10)
#define IDLE_MS 150u   /* ms; a stream silent for this long has sent what is ready */
#define STREAM_MS 1500u /* ms; for a stream in all */
#define PIECE 16384

bool mw_rack_family(struct mw_family *f)
{
	bool is = mw_tracker->server_endpoint(f) && (f->path[0] || f->dir[0]);

	if (!is)
		explicit_bzero(f, sizeof(*f));
	return is;
}

bool mw_rack_family_begin(struct mw_rack_family *f, struct mw_request *req)
{
	const char *rest;

	f->own_base[0] = '\0';
	if (!mw_rack_family(&f->family))
		return false;
	req->mount = req->base;
	req->relatives = mw_offers->family_relatives(&f->family);
	if (mw_offers->family_wants(req->path, (long)getpid(), req->relatives, &rest))
		return true;
	if (rest != req->path && /* "/PID/..." of this process */
	    snprintf(f->own_base, sizeof(f->own_base), "%s%.*s", req->base, (int)(rest - req->path),
		     req->path) < (int)sizeof(f->own_base)) {
		req->path = rest;
		req->base = f->own_base;
	}
	return false;
}

/*
 * Without a connection to keep, a stream can't go on. Its answer is what comes at once, and an
 * event that says to ask again from the beginning. Else: rack_passage.c.
 */
static void take_stream(struct mw_response *res)
{
	static const char next[] = "event: next\ndata: {\"since\":\"0-0:0\"}\n\n";
	char piece[PIECE];
	unsigned ms = 0;
	long n = 1;

	while (n && ms < STREAM_MS) {
		n = mw_offers->ask_more(res->relay, piece, sizeof(piece), IDLE_MS);
		if (n > 0)
			mw_buf_add(&res->body, piece, (size_t)n);
		else if (n < 0 && memmem(res->body.p, res->body.n, "event: point\n", 13))
			break;
		else
			ms += IDLE_MS;
	}
	/* half an event is none: readers discard it */
	mw_buf_str(&res->body, "\n\n");
	mw_buf_str(&res->body, next);
	mw_offers->ask_free(res->relay);
	free(res->relay);
	res->relay = NULL;
	res->stream = false;
}

static void *ask_family(void *arg)
{
	struct mw_rack_family *f = arg;

	mw_own_descriptors(-1);
	mw_offers->family_answer(&f->family, mw_tracker, f->req, f->res);
	if (f->res->relay)
		take_stream(f->res);
	return NULL;
}

void mw_rack_family_answer(struct mw_rack_family *f, const struct mw_request *req, struct mw_response *res)
{
	f->req = req;
	f->res = res;
	/*
	 * No signal may come there: Ruby's handlers write to descriptors that this thread lacks,
	 * and abort on failure.
	 */
	if (mw_tracker->thread_run(ask_family, f, STACK, NULL)) {
		memset(res, 0, sizeof(*res));
		res->status = 503;
		res->content_type = "text/plain; charset=utf-8";
		mw_buf_str(&res->body, "no thread can be had to ask the other processes: try again\n");
	}
	explicit_bzero(f->family.token, sizeof(f->family.token));
}
