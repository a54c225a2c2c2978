/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * routes.h - from a request to a response, by the one list of routes (routes.def).
 *
 * mw_route() knows nothing of sockets or libmicrohttpd: the server and a Rack
 * adapter both call it, each with its own access to headers. It reads through
 * `struct mw_api` only, and allocates: enter quiet mode first. Any thread may
 * call it; calls don't share anything.
 *
 * GET and HEAD change nothing. POST is refused
 *  - if a browser sent it from a page of another origin;
 *  - if `read_only` is set;
 *  - if the request's `no_post` is set.
 * On MW_PEER_TCP every request must name a loopback host, against pages that
 * rebind their own name to 127.0.0.1. A request with an `access` needs the token
 * or a session (access.h), except for the files of web/ and the login itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "server/http/message.h"

struct mw_call;

enum {
	MW_ROUTE_GET = 1,
	MW_ROUTE_POST = 2,
	MW_ROUTE_PUBLIC = 4,
	MW_ROUTE_LOGIN = 8,
	MW_ROUTE_WAITS = 16,
	MW_ROUTE_STREAM = 32,
	MW_ROUTE_FORM = 64,
	MW_ROUTE_BODY = 128,
	MW_ROUTE_DISK = 256,
	MW_ROUTE_HEAP = 512,
	MW_ROUTE_QUERY = 1024,
	MW_ROUTE_FORMS = 2048,
	MW_ROUTE_SITE = 4096,
	MW_ROUTE_EXACT = 8192
};

/* The answers of /all/. */
enum mw_all {
	MW_ALL_NONE,
	MW_ALL_TABLE,
	MW_ALL_COUNTS,
	MW_ALL_AT,
	MW_ALL_STACKS,
	MW_ALL_METRICS,
	MW_ALL_MAP,
	MW_ALL_VERDICT,
	MW_ALL_DIFF,
	MW_ALL_EACH,
	MW_ALL_MARK,
	MW_ALL_FILE
};

struct mw_route {
	unsigned flags; /* MW_ROUTE_... */
	const char *pattern;
	void (*handler)(struct mw_call *);
	enum mw_all all;
};

/* The route of a path of n bytes, whatever the method and whether there is a login; NULL: none. */
const struct mw_route *mw_route_of(const char *path, size_t n);
/* What /all/ answers for the page `rest`. */
enum mw_all mw_page_all(const char *rest);

/*
 * Answers a request. Never fails: an error is a status and a line of text. HEAD
 * gets the whole body as well; the sender leaves it out. End with
 * mw_response_free().
 */
void mw_route(const struct mw_api *, const struct mw_request *, struct mw_response *);
/*
 * Does the answer wait, or take long? Then mw_route is called in a thread that serves nobody else, and
 * that doesn't have the site: with `later`.
 */
bool mw_route_waits(const struct mw_request *);
/*
 * Ends what mw_route() began with `later`, once the calling thread has the site; NULL: it can't be had.
 * Call it once, or mw_route_drop(). Quick.
 */
void mw_route_after(const struct mw_api *, const struct mw_request *, struct mw_response *,
		    struct mw_site *);
/* Frees what a response keeps for mw_route_after(). */
void mw_route_drop(struct mw_response *);
/*
 * True: the request is refused for every path, by its Host or for want of a token; the response
 * says so. False: the response is unused, and free for mw_route().
 */
bool mw_route_refuses(const struct mw_api *, const struct mw_request *, struct mw_response *);
