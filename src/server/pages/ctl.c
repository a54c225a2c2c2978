/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl.c - POST /ctl: changes options while the process runs.
 *
 * The header X-Mwrap-BT is mwrap 3's. A form's fields come as the query (server/httpd/mhd.c).
 */
#include <string.h>

#include "pages.h"

struct change {
	const char *bt, *stacks; /* as given; NULL: stays */
	struct mw_options o;
};

static const char *header_bt(const struct mw_request *req)
{
	return req->header ? req->header(req->ctx, "X-Mwrap-BT") : NULL;
}

/* 0, or 400 with a reason. */
static int read_change(struct change *c, const struct mw_params *p, const struct mw_request *req,
		       struct mw_buf *why)
{
	char err[MW_ERROR_MAX];

	c->bt = p->v[MW_PARAM_BT].s ? p->v[MW_PARAM_BT].s : header_bt(req);
	c->stacks = p->v[MW_PARAM_STACKS].s;
	if (!c->bt && !c->stacks) {
		mw_buf_str(why, "ctl: nothing to change: give bt=0 to 16, or stacks=auto, off or BYTES");
		return 400;
	}
	if ((!c->bt || mw_option_parse(&c->o, "bt", c->bt, err)) &&
	    (!c->stacks || mw_option_parse(&c->o, "stacks", c->stacks, err)))
		return 0;
	mw_buf_str(why, err);
	return 400;
}

static void do_change(struct mw_call *call, const struct change *c)
{
	struct mw_buf line = { 0 };

	if (c->bt) {
		call->api->set_bt(c->o.bt);
		mw_buf_fmt(&line, "bt is %u", c->o.bt);
	}
	if (c->stacks) {
		call->api->set_stacks(c->o.stacks_rate, c->o.stacks_auto);
		mw_buf_str(&line, c->bt ? ", stacks is " : "stacks is ");
		mw_buf_utf8(&line, c->stacks, strlen(c->stacks));
	}
	mw_buf_add(&line, "", 1);
	if (line.failed) {
		call->res->body.failed = true;
	} else {
		mw_site_event(call->req->site, "ctl", line.p);
		mw_done(call, line.p, line.p);
	}
	mw_buf_free(&line);
}

void mw_page_ctl(struct mw_call *call)
{
	struct change c = { 0 };

	if (!mw_refused(call, read_change(&c, &call->params, call->req, &call->why)))
		do_change(call, &c);
}
