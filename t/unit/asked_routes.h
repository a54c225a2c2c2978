/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asked_routes.h - a request to the route table of a fake tracker, and its
 * response. For the tests of routes; setup() and teardown() are for EACH().
 * ask() and route() return the status.
 */
#pragma once

#include <string.h>
#include <strings.h>

#include "../../src/server/pages/routes.h"
#include "fake_api.h"

static struct mw_api api;
static int resets, trims;
static struct mw_response res;

/* NAME, VALUE, NAME, VALUE, ..., NULL */
static const char *const *headers;

static inline const char *header(void *ctx, const char *name)
{
	(void)ctx;
	for (const char *const *h = headers; h && *h; h += 2)
		if (!strcasecmp(*h, name))
			return h[1];
	return NULL;
}

static inline void do_reset(void)
{
	resets++;
}

static inline bool do_trim(void)
{
	return trims++ & 1;
}

static inline void setup(void)
{
	fake_clear();
	api = fake_api;
	api.reset = do_reset;
	api.trim = do_trim;
	resets = trims = 0;
	headers = NULL;
	fake_site();
}

static inline int route(const struct mw_request *req)
{
	mw_response_free(&res);
	mw_route(&api, req, &res);
	assert_int_equal(fake_out, 0);
	assert_non_null(res.content_type);
	assert_false(res.body.failed);
	return res.status;
}

static inline int ask(const char *method, const char *path, const char *query, const char *base,
		      enum mw_peer peer)
{
	struct mw_request req = {
		.method = method, .path = path, .query = query, .base = base, .peer = peer, .header = header
	};

	return route(&req);
}

static inline void teardown(void)
{
	mw_response_free(&res);
}

static inline bool has(const char *s)
{
	return res.body.n && memmem(res.body.p, res.body.n, s, strlen(s));
}
