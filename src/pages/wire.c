/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.c - the requests of a family's processes to each other: report/live/wire.h.
 *
 * /family/self has this process's figures and what it says of itself (report/live/self.h),
 * /family/table its table; with
 * location= that has one location's row and its live blocks; /family/stacks its table and its
 * sampled stacks.
 */
#include <stdio.h>

#include "report/live/wire.h"
#include "pages.h"

static void reply(struct mw_call *call, enum mw_wire_what what, const char *location, size_t n)
{
	call->res->status = 200;
	call->res->content_type = "text/plain; charset=utf-8";
	if (mw_wire_write(&call->res->body, call->api, what, location, n))
		call->res->body.failed = true;
}

/* The strings are the site's, until its next verdict. */
static void set_verdict(struct mw_self *to, struct mw_site *site)
{
	const struct mw_said *said = mw_site_said(site);

	if (!said)
		return;
	snprintf(to->kind, sizeof(to->kind), "%s", mw_verdict_name(said->kind));
	to->rate = (int64_t)(said->rate * 60);
	to->sentence = said->sentence.p;
}

void mw_page_self(struct mw_call *call)
{
	struct mw_site *site = call->req->site;
	struct mw_self self = { 0 };

	call->res->status = 200;
	call->res->content_type = "text/plain; charset=utf-8";
	if (site) {
		if (site->statm >= 0 && !mw_rss_bytes(site->statm, &self.rss))
			self.rss = 0;
		mw_self_curve(&self, &site->history);
		set_verdict(&self, site);
	}
	if (mw_wire_write_self(&call->res->body, call->api, &self))
		call->res->body.failed = true;
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

void mw_page_table_stacks(struct mw_call *call)
{
	reply(call, MW_WIRE_STACKS, "", 0);
}
