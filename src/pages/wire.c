/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.c - the requests of a family's processes to each other: report/wire.h.
 *
 * /family/self has this process's figures, /family/table its table; with
 * location= that has one location's row and its live blocks.
 */
#include "report/wire.h"
#include "pages.h"

static void reply(struct mw_call *call, enum mw_wire_what what, const char *location, size_t n)
{
	call->res->status = 200;
	call->res->content_type = "text/plain; charset=utf-8";
	if (mw_wire_write(&call->res->body, call->api, what, location, n))
		call->res->body.failed = true;
}

void mw_page_self(struct mw_call *call)
{
	reply(call, MW_WIRE_SELF, "", 0);
}

void mw_page_table(struct mw_call *call)
{
	struct mw_buf why = { 0 };
	struct mw_params p;
	int bad = mw_params_parse(&p, call->req->query, &why);

	if (bad)
		mw_reply_why(call, bad, &why);
	else if (p.v[MW_PARAM_LOCATION].s)
		reply(call, MW_WIRE_AT, p.v[MW_PARAM_LOCATION].s, p.v[MW_PARAM_LOCATION].n);
	else
		reply(call, MW_WIRE_ALL, "", 0);
	mw_params_free(&p);
}
