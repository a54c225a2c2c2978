/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * message.h - a request and the response to it. A socket of the server, a Rack
 * environment or another process's answer carries them.
 *
 * Plain data. The maker of a request owns everything it points to; a response owns the
 * fields marked "owned". Nothing here knows a page.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/text/buf.h"

enum mw_peer {
	MW_PEER_UNIX, /* the file's mode decides who may connect; any Host */
	MW_PEER_TCP,  /* loopback; Host must be a loopback name */
	MW_PEER_FAR,  /* other addresses; never without `access`; any Host */
	MW_PEER_RACK  /* the application decides who may ask; any Host */
};

struct mw_site;
struct mw_access;
struct mw_map_ruby;
struct mw_grown_of_all; /* server/marks/grown.h */

struct mw_request {
	const char *method;
	const char *path;  /* as received, percent-encoded, without the query; starts with "/" */
	const char *query; /* the part behind "?", percent-encoded; NULL or "": none */
	const char *base;  /* where "/" is mounted, for links: "" or "/mwrap"; percent-encoded */
	const char *mount; /* the family's "/": base without "/PID", "/all"; NULL: no family */
	bool relatives; /* of a page: "/" may be the list of processes, as this one's own is at /PID/ */
	enum mw_peer peer;
	/* A header's value by its name in any case; NULL: not there. */
	const char *(*header)(void *ctx, const char *name);
	void *ctx;
	struct mw_access *access; /* its owning thread calls; NULL: no token is needed */
	/* mw_route_refuses() passed it, another thread answers: access is NULL, Host is checked */
	bool let_in;
	/* of POST /login; NULL, 0: none. A NUL follows, which body_n doesn't count */
	const char *body;
	size_t body_n;
	bool body_cut; /* it was larger than MW_LOGIN_BODY_MAX */
	struct mw_site *site; /* the calling thread has it (site.h); NULL: none */
	bool site_busy; /* there is one, but it couldn't be had in time */
	/* The site comes afterwards, by mw_route_after(): what needs it is left in the response. */
	bool later;
	struct mw_map **map; /* made for this request; who keeps it sets *map to NULL. NULL: none */
	/*
	 * A POST is refused with this line, and pages have no controls; NULL: the
	 * options decide. ask_who: an authenticated client may POST, so pages have
	 * controls, and the refusal is 401 instead of 403.
	 */
	const char *no_post;
	bool ask_who;
	/* of /all/: the rows' growth is that of this range; NULL: since the reset */
	const struct mw_grown_of_all *grown;
	const char *missing; /* of /all/: says which processes aren't in the sum; NULL: all are */
	const struct mw_map_ruby *ruby; /* how full Ruby's heap pages are (memory/map.h), for /map; NULL: not known */
	/* /live ends at once, and clients ask again after this many ms; 0: it goes on. */
	unsigned poll;
};

/* A header's value; NULL: not there. */
static inline const char *mw_header(const struct mw_request *req, const char *name)
{
	return req->header ? req->header(req->ctx, name) : NULL;
}

/* The same; "": not there. */
static inline const char *mw_header_text(const struct mw_request *req, const char *name)
{
	const char *value = mw_header(req, name);

	return value ? value : "";
}

struct mw_header {
	const char *name, *value;
};

struct mw_response {
	int status;
	bool stream; /* the body begins an endless stream, which server/history/stream.h or `relay` continues */
	struct mw_ask *relay; /* src/server/family: another process's stream; the caller owns it */
	struct mw_buf passed; /* owned; another process's headers, instead of ours: */
	/* name and value in turn, each with a NUL */
	bool script; /* the page loads one of our scripts */
	const char *content_type; /* static */
	struct mw_buf body; /* owned by the response */
	const void *asset; /* static; the body instead of `body`, if not NULL */
	size_t asset_len;
	const struct mw_header *etag; /* static, of an asset; NULL: none */
	bool gzip; /* the body is compressed */
	bool gzip_file; /* the body is for a gzip file: the sender compresses it, whatever the client accepts */
	bool forever; /* the URL names the content: it never changes */
	const char *allow; /* static; value of Allow, NULL: none */
	struct mw_buf location; /* owned, NUL-terminated; value of Location if n > 0 */
	struct mw_buf cookie; /* owned, NUL-terminated; value of Set-Cookie if n > 0 */
	/* for the site, if the request was for `later`; mw_route_after() takes both */
	const char *event; /* static; NULL: none */
	struct mw_buf event_text; /* owned, NUL-terminated if n > 0 */
	struct mw_map *map; /* the answer is made of it; NULL: it is there already */
};

/* Makes the body n static bytes at p, of a static content type; frees the response's buffers. */
void mw_response_static(struct mw_response *, int status, const char *type, const void *p, size_t n);
/* Replaces the response by a 500. */
void mw_response_no_memory(struct mw_response *);
/* The last step: makes it a 500 if an allocation of one of its parts failed. */
void mw_response_settle(struct mw_response *);
void mw_response_free(struct mw_response *);

/*
 * The i-th header besides Content-Type, Allow, Location and Set-Cookie; false after the last.
 * If content_type is "", these headers include it. Both texts are the response's, or static.
 */
bool mw_response_header(const struct mw_response *, size_t i, struct mw_header *);
