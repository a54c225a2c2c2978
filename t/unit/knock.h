/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * knock.h - for test_access.c and test_login.c: requests to a route table that has a token, at
 * any time of day.
 */
#pragma once

#include "unit.h"
#include "../../src/server/http/access.h"
#include "asked_routes.h"

#define TOKEN "correct-horse-battery"

static struct mw_access access_;
static uint64_t clock_ms;

#define HEADERS(...) set_headers((const char *const[]){ __VA_ARGS__, NULL })

/* Headers that a block sets stay when it ends. */
static void set_headers(const char *const *h)
{
	static const char *kept[17];
	size_t n = 0;

	memset(kept, 0, sizeof(kept));
	while (*h && n < sizeof(kept) / sizeof(*kept) - 1)
		kept[n++] = *h++;
	headers = kept;
}

static uint64_t the_clock(void)
{
	return clock_ms;
}

static void lock(void)
{
	setup();
	clock_ms = 1000000;
	mw_access_forget(&access_);
	access_.clock = the_clock;
	mw_access_token(&access_, TOKEN, strlen(TOKEN));
}

static struct mw_request request(const char *method, const char *path)
{
	return (struct mw_request){
		.method = method, .path = path, .base = "", .peer = MW_PEER_TCP, .header = header, .access = &access_
	};
}

static inline int knock(const char *method, const char *path)
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

static inline const char *response_header(const char *name)
{
	struct mw_header h;

	for (size_t i = 0; mw_response_header(&res, i, &h); i++)
		if (!strcmp(h.name, name))
			return h.value;
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
	return knock("GET", "/stats.json");
}

static inline int bearer(const char *value)
{
	HEADERS("Host", "localhost:8080", "Authorization", value);
	return knock("GET", "/stats.json");
}
