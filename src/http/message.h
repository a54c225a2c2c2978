/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * message.h - a request and the response to it, whatever carries them: a socket of the
 * server's, a Rack environment, or another process's answer.
 *
 * Plain data. Who made a request owns what it points to; a response owns what it says
 * that it owns. Nothing here knows a page.
 */
#ifndef MW_HTTP_MESSAGE_H
#define MW_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

enum mw_peer {
	MW_PEER_UNIX, /* the file's mode decides who may connect; any Host */
	MW_PEER_TCP,  /* loopback; Host must be a loopback name */
	MW_PEER_FAR,  /* other addresses; never without `access`; any Host */
	MW_PEER_RACK  /* the application decides who may; any Host */
};

struct mw_site;
struct mw_access;

struct mw_request {
	const char *method;
	const char *path;  /* as received, percent-encoded, without the query; starts with "/" */
	const char *query; /* what follows "?", percent-encoded; NULL or "": none */
	const char *base;  /* where "/" is mounted, for links: "" or "/mwrap"; percent-encoded */
	const char *mount; /* where its family's "/" is: base without "/PID", "/all"; NULL: it has no such pages */
	enum mw_peer peer;
	/* A header's value by its name in any case, NULL: not there. */
	const char *(*header)(void *ctx, const char *name);
	void *ctx;
	struct mw_access *access; /* whose owner calls; NULL: who could connect may ask */
	bool let_in; /* mw_route_refuses() didn't, and another thread answers: access is NULL, Host was seen */
	/* of POST /login; NULL, 0: none. A NUL follows, which body_n doesn't count */
	const char *body;
	size_t body_n;
	bool body_cut; /* it was larger than MW_LOGIN_BODY_MAX */
	struct mw_site *site; /* whose owner calls (site.h); NULL: there is none */
	/*
	 * A POST is refused with this line, and pages have no controls; NULL: the
	 * options decide. ask_who: who says who they are may, so pages have
	 * controls, and the refusal is 401 instead of 403.
	 */
	const char *no_post;
	bool ask_who;
	/* /live ends at once, and is to be asked again after so many ms; 0: it goes on. */
	unsigned poll;
};

struct mw_header {
	const char *name, *value;
};

struct mw_response {
	int status;
	bool stream; /* the body begins an endless one: site.h goes on, or `relay`. Else the body is all */
	struct mw_ask *relay; /* src/family: another process's stream; who took the response owns it */
	struct mw_buf passed; /* owned; headers as another process gave them, instead of ours: */
	/* name and value in turn, each with a NUL */
	bool script; /* the page loads one of ours */
	const char *content_type; /* static */
	struct mw_buf body; /* owned by the response */
	const void *asset; /* static body, instead of `body`, if not NULL */
	size_t asset_len;
	const struct mw_header *etag; /* static, of an asset; NULL: none */
	bool gzip; /* the asset is compressed */
	bool forever; /* the URL names the content: it never changes */
	const char *allow; /* static; value of Allow, NULL: none */
	struct mw_buf location; /* owned, NUL-terminated; value of Location if n > 0 */
	struct mw_buf cookie; /* owned, NUL-terminated; value of Set-Cookie if n > 0 */
};

/* Another body: n static bytes at p, of a static content type. What the response had is freed. */
void mw_response_static(struct mw_response *, int status, const char *type, const void *p, size_t n);
/* 500 instead of what there is. */
void mw_response_no_memory(struct mw_response *);
/* The last step: 500, if there was no memory for a part of it. */
void mw_response_settle(struct mw_response *);
void mw_response_free(struct mw_response *);

/*
 * The i-th header besides Content-Type (which is "" where these have it), Allow,
 * Location and Set-Cookie; NULL after the last. The calling thread's, until its next call.
 */
const struct mw_header *mw_response_header(const struct mw_response *, size_t i);

#endif
