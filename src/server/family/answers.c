/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answers.c - the answers of all processes to a GET; see gather.h. */
#include <stdlib.h>
#include <unistd.h>

#include "gather.h"

/* Asks the others; false: no memory. */
static bool ask(struct mw_answers *a, const struct mw_family *f, const struct mw_request *req,
		const char *const *names)
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
		mw_ask_for_replies(a->asks, &a->g, f, "GET", target.p, req, names, false);
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

		if (k->socket && !k->error && k->status == 200)
			a->v[a->n++] = (struct mw_answer){ .pid = a->g.replies[i].pid,
							   .shown = a->g.replies[i].shown,
							   .text = k->answer.p + k->body,
							   .n = k->answer.n - k->body };
	}
}

bool mw_answers_get(struct mw_answers *a, struct mw_call *call, const struct mw_family *f,
		    const struct mw_request *req, const char *const *names)
{
	*a = (struct mw_answers){ 0 };
	mw_route(call->api, req, &a->own);
	if (a->own.status != 200) { /* the others would refuse it, too */
		mw_response_free(call->res);
		*call->res = a->own;
		return false;
	}
	if (!mw_gather(&a->g, f, call->api, MW_WIRE_SELF, "") && ask(a, f, req, names)) {
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
