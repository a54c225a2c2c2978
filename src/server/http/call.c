/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "call.h"

const struct mw_stats *mw_call_stats(struct mw_call *call)
{
	if (!call->has_stats)
		call->api->stats(&call->stats);
	call->has_stats = true;
	return &call->stats;
}

void mw_reply(struct mw_call *call, int status, const char *line)
{
	struct mw_response *res = call->res;

	res->status = status;
	res->content_type = "text/plain; charset=utf-8";
	res->body.n = 0;
	mw_buf_str(&res->body, line);
	mw_buf_str(&res->body, "\n");
}

void mw_reply_why(struct mw_call *call, int status, struct mw_buf *why)
{
	mw_buf_add(why, "", 1);
	if (status == 500 || why->failed)
		mw_response_no_memory(call->res);
	else
		mw_reply(call, status, why->p);
	mw_buf_free(why);
}

bool mw_refused(struct mw_call *call, int status)
{
	if (status)
		mw_reply_why(call, status, &call->why);
	return status != 0;
}

void mw_reply_form(struct mw_call *call, enum mw_form form)
{
	call->res->status = 200;
	call->res->content_type = mw_form_type(form);
}
