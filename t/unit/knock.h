/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * knock.h - for test_access.c and test_login.c: requests to a route table that has a token, at
 * any time of day.
 */
#pragma once

#include <strings.h>

#include "unit.h"
#include "../../src/server/http/access.h"
#include "../../src/server/pages/routes.h"
#include "fake_api.h"

#define TOKEN "correct-horse-battery"

static struct mw_api api;
static int resets;
static struct mw_response res;
static struct mw_access access_;
static uint64_t clock_ms;

/* NAME, VALUE, NAME, VALUE, ..., NULL */
static const char *headers[17];
#define HEADERS(...) set_headers((const char *const[]){ __VA_ARGS__, NULL })

static void set_headers(const char *const *h)
{
	size_t n = 0;

	memset(headers, 0, sizeof(headers));
	while (*h && n < sizeof(headers) / sizeof(*headers) - 1)
		headers[n++] = *h++;
}

static const char *header(void *ctx, const char *name)
{
	(void)ctx;
	for (const char *const *h = headers; *h; h += 2)
		if (!strcasecmp(*h, name))
			return h[1];
	return NULL;
}

static void do_reset(void)
{
	resets++;
}

static uint64_t the_clock(void)
{
	return clock_ms;
}

static void setup(void)
{
	fake_clear();
	fake_site();
	api = fake_api;
	api.reset = do_reset;
	resets = 0;
	clock_ms = 1000000;
	memset(headers, 0, sizeof(headers));
	mw_access_forget(&access_);
	access_.clock = the_clock;
	mw_access_token(&access_, TOKEN, strlen(TOKEN));
}

static void teardown(void)
{
	mw_response_free(&res);
}

static struct mw_request request(const char *method, const char *path)
{
	return (struct mw_request){
		.method = method, .path = path, .base = "", .peer = MW_PEER_TCP, .header = header, .access = &access_
	};
}

static int route(const struct mw_request *req)
{
	mw_response_free(&res);
	mw_route(&api, req, &res);
	assert_int_equal(fake_out, 0);
	assert_non_null(res.content_type);
	return res.status;
}

static inline int ask(const char *method, const char *path)
{
	struct mw_request req = request(method, path);

	return route(&req);
}

static inline int post(const char *path, const char *body)
{
	struct mw_request req = request("POST", path);

	req.body = body;
	req.body_n = strlen(body);
	return route(&req);
}

static inline bool has(const char *s)
{
	return res.body.n && memmem(res.body.p, res.body.n, s, strlen(s));
}

static inline const char *response_header(const char *name)
{
	const struct mw_header *h;

	for (size_t i = 0; (h = mw_response_header(&res, i)); i++)
		if (!strcmp(h->name, name))
			return h->value;
	return NULL;
}

#define FORM "Host", "localhost:8080", "Content-Type", "application/x-www-form-urlencoded"

/* Logs in; the cookie as a browser sends it, "mwrap_8080=...". */
static inline const char *cookie(void)
{
	static char text[8][64];
	static unsigned i;
	char *to = text[i++ % 8];

	HEADERS(FORM);
	assert_int_equal(post("/login", "token=" TOKEN), 303);
	assert_true(res.cookie.n > 0);
	snprintf(to, sizeof(text[0]), "%.*s", (int)strcspn(res.cookie.p, ";"), res.cookie.p);
	return to;
}

static inline int get_with(const char *the_cookie)
{
	HEADERS("Host", "localhost:8080", "Cookie", the_cookie);
	return ask("GET", "/stats.json");
}

static inline int bearer(const char *value)
{
	HEADERS("Host", "localhost:8080", "Authorization", value);
	return ask("GET", "/stats.json");
}
