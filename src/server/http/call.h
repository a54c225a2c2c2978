/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.h - a request that is being answered, and the short answers. */
#pragma once

#include "message.h"
#include "params.h"

struct mw_call {
	const struct mw_api *api;
	const struct mw_request *req;
	struct mw_response *res;
	const char *rest; /* of the path, behind a route's "*"; percent-encoded */
	/* for routes that say so (api/routes.def): what was asked for */
	struct mw_params params;
	enum mw_form form; /* HTML, unless another one is given */
	struct mw_buf why; /* of a refusal: see mw_refused */
	bool session; /* the request has the cookie of a valid session */
	/* for mw_reply_page: "home", "family", "all", "at", "flame" or "map", if the page needs our script; NULL: it doesn't */
	const char *script;
	struct mw_stats stats; /* see mw_call_stats */
	bool has_stats;
};

/*
 * The totals, summed once for an answer: each sum stops all threads' counters for a moment, and one page shows
 * one moment. For what is shown; a handler that changes something asks the tracker itself.
 */
const struct mw_stats *mw_call_stats(struct mw_call *);

/* Answers with a line of text, without its newline. */
void mw_reply(struct mw_call *, int status, const char *line);
/* As mw_reply for 4xx, with a reason from params.h (freed here); 500: no memory. */
void mw_reply_why(struct mw_call *, int status, struct mw_buf *why);
/* Is the status one? Then it is the answer, with the call's `why`. 0: it isn't. */
bool mw_refused(struct mw_call *, int status);
/* Begins a 200 of that form; the caller adds the body. */
void mw_reply_form(struct mw_call *, enum mw_form);
