/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answers.c - the answers of all processes to a GET; see gather.h. */
#include <stdlib.h>
#include <unistd.h>

#include "gather.h"

/* own: asks this process, too: its server has the site, which this thread hasn't. False: no memory. */
static bool ask_processes(struct mw_answers *a, const struct mw_family *f, const struct mw_request *req,
			  const char *const *names, bool own)
{
	struct mw_buf target = { 0 };
	bool ok;

	mw_buf_str(&target, req->path);
	if (req->query && *req->query) {
		mw_buf_str(&target, "?");
		mw_buf_str(&target, req->query);
	}
	mw_buf_add(&target, "", 1);
	a->v = calloc(a->g.n + 1, sizeof(*a->v));
	a->asks = target.failed || !a->v ? NULL : calloc(a->g.n + 1, sizeof(*a->asks));
	ok = a->asks;
	if (ok)
		mw_ask_for_replies(a->asks, &a->g, f, "GET", target.p, req, names, own);
	mw_buf_free(&target);
	return ok;
}

static void collect(struct mw_answers *a)
{
	a->v[a->n++] = (struct mw_answer){ .pid = (long)getpid(),
					   .shown = mw_own_shown(&a->g),
					   .text = a->own.body.p,
					   .n = a->own.body.n };
	for (size_t i = 0; i < a->g.n; i++) {
		const struct mw_ask *k = &a->asks[i];

		const struct mw_reply_of *r = &a->g.replies[i];
		/* its server's answer has what only the site knows: it replaces the one that was made here */
		size_t at = r->pid == a->v[0].pid && r->shown == a->v[0].shown ? 0 : a->n;

		if (!k->socket || k->error || k->status != 200)
			continue;
		a->v[at] = (struct mw_answer){ .pid = r->pid,
					       .shown = r->shown,
					       .text = k->answer.p + k->body,
					       .n = k->answer.n - k->body };
		a->n += at != 0;
	}
}

bool mw_answers_get(struct mw_answers *a, struct mw_call *call, const struct mw_family *f,
		    const struct mw_request *req, const char *const *names, bool own)
{
	*a = (struct mw_answers){ 0 };
	mw_route(call->api, req, &a->own);
	if (a->own.status != 200) { /* the others would refuse it, too */
		mw_response_free(call->res);
		*call->res = a->own;
		return false;
	}
	if (!mw_gather(&a->g, f, call->api, MW_WIRE_SELF, "") && ask_processes(a, f, req, names, own)) {
		collect(a);
		return true;
	}
	call->res->body.failed = true;
	mw_answers_free(a);
	return false;
}

void mw_answers_free(struct mw_answers *a)
{
	for (size_t i = 0; a->asks && i < a->g.n; i++)
		if (a->asks[i].socket)
			mw_ask_free(&a->asks[i]);
	free(a->asks);
	free(a->v);
	mw_gathered_free(&a->g);
	mw_response_free(&a->own);
}
