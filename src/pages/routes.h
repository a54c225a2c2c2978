/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * routes.h - the one route table: from a request to a response.
 *
 * Knows nothing of sockets or libmicrohttpd: the server and a Rack adapter
 * call mw_route() alike, each with its own way of getting at headers. It reads
 * through `struct mw_api` only, allocates (so: in quiet mode), and may be
 * called by any thread; calls don't share anything.
 *
 * GET and HEAD change nothing. POST is refused when a browser sent it from
 * a page of another origin, when `read_only` is set, and as the request says. On MW_PEER_TCP
 * every request must name a loopback host, which keeps out pages that
 * rebind their own name to 127.0.0.1. A request with an `access` is answered
 * only to who has the token or a session (access.h), but for the files of web/
 * and the login itself.
 */
#ifndef MW_PAGES_ROUTES_H
#define MW_PAGES_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "api.h"
#include "http/message.h"

/*
 * Answers a request. Never fails: what goes wrong is a status and a line of
 * text. The whole body is there for HEAD as well; who sends it leaves it out.
 * End with mw_response_free().
 */
void mw_route(const struct mw_api *, const struct mw_request *, struct mw_response *);
/*
 * Whether such a request is refused whatever it asks for: its Host, or it has no token. Then the
 * response says so; it is free for mw_route() else.
 */
bool mw_route_refuses(const struct mw_api *, const struct mw_request *, struct mw_response *);

#endif
