/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.c - the requests of a family's processes to each other: server/report/wire.h.
 *
 * /family/self has this process's figures and what it says of itself (server/report/self.h).
 * /family/table has its table; with location= one location's row, its live blocks and stacks.
 * /family/diff has the rows of its /diff (diff.c).
 * /family/stacks has its table and its sampled stacks. With from= and to= the table has the growth in
 * that range of time. These are seconds of the machine's monotonic clock, since each process has an
 * uptime of its own.
 */
#include <stdio.h>

#include "shared/sys/clock.h"
#include "server/marks/grown.h"
#include "server/report/wire.h"
#include "pages.h"

static void reply_wire(struct mw_call *call, enum mw_wire_what what, const char *location, size_t n)
{
	call->res->status = 200;
	call->res->content_type = MW_WIRE_TYPE;
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
	to->rate = (int64_t)((said->beside > 0 ? said->beside : said->rate) * 60);
	to->sentence = said->sentence.p;
}

void mw_page_self(struct mw_call *call)
{
	struct mw_site *site = call->req->site;
	struct mw_self self = { 0 };

	call->res->status = 200;
	call->res->content_type = MW_WIRE_TYPE;
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
	const char *location = call->params.v[MW_PARAM_LOCATION].s;

	if (location)
		reply_wire(call, MW_WIRE_AT, location, call->params.v[MW_PARAM_LOCATION].n);
	else
		reply_wire(call, MW_WIRE_ALL, "", 0);
}

/* The growth in a range of the monotonic clock. */
static void reply_grown(struct mw_call *call, const struct mw_span *span)
{
	const struct mw_site *site = call->req->site;
	/* a moment has whole seconds: to be a millisecond too early would be to miss it */
	double origin = (double)site->origin_ms / 1000 - 0.05;
	struct mw_grown grown;
	int rc = mw_grown_read(&grown, &site->curves, call->api, span->from - origin, span->to - origin);
	const struct mw_profile_how how = {
		.ranged = true, .from = grown.from, .to = grown.to, .set_growth = mw_grown_set, .ctx = &grown
	};

	call->res->status = 200;
	call->res->content_type = MW_WIRE_TYPE;
	if (rc < 0 || mw_wire_write_grown(&call->res->body, call->api, &how, rc ? NULL : &grown.total))
		call->res->body.failed = true;
	mw_grown_free(&grown);
}

void mw_page_table_stacks(struct mw_call *call)
{
	double now = (double)mw_now_ms() / 1000;
	struct mw_span span = { .to = now, .points = 2 };

	if (mw_refused(call, mw_params_span(&call->params, now, 2, &span, &call->why)))
		return;
	if (!span.given)
		reply_wire(call, MW_WIRE_STACKS, "", 0);
	else if (mw_has_site(call))
		reply_grown(call, &span);
}
