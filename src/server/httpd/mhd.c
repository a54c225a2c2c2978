/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mhd.c - connects libmicrohttpd and the route table.
 *
 * libmicrohttpd runs without a thread, a listening socket or select(2). accept.c gives it
 * accepted connections, and rounds.c drives it. Called by the server's thread only, out of MHD_run()
 * and MHD_add_connection().
 *
 * A request is answered once all of it is there. Its body is read and discarded, except
 * MW_LOGIN_BODY_MAX bytes of that of POST /login. A request's cost is bounded:
 *  - 64 KiB for its head; libmicrohttpd answers a longer one with 431 or 414;
 *  - BODY_MAX bytes of body, else 413;
 *  - HELD_MAX bytes for the answers of all clients together, before a further one is made.
 *
 * An ambiguous head gets 400 (check_head.c). A client that is answered before all was read can go on
 * sending for a while, and so gets the answer (linger.c).
 */
#include "mhd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/sys/clock.h"
#include "shared/sys/times.h"
#include "server/family/family.h"
#include "server/family/gather.h"
#include "server/http/access.h"
#include "server/http/assets.h"
#include "server/pages/routes.h"
#include "connections.h"
#include "form.h"
#include "server/http/gzip.h"
#include "check_head.h"
#include "server/httpd/library/library.h"
#include "linger.h"
#include "live.h"
#include "own_family.h"
#include "own_site.h"
#include "relay.h"
#include "server_state.h"
#include "token.h"

#define CONN_MEMORY ((size_t)64 << 10)
/*
 * With this, 1.0 accepts one form of line end, no folded lines, and doesn't redirect targets with
 * spaces to its own reading of them. 0.9 has only check_head.c.
 */
#if MHD_VERSION >= 0x01000000
#define STRICT MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#else
#define STRICT
#endif
/* Bytes of answers that wait for slow readers; beyond this, others get 503. */
#define HELD_MAX ((size_t)32 << 20)
#define BODY_MAX ((size_t)1 << 20) /* no request needs a larger one */
#define TOO_LARGE "the request's body is larger than 1 MiB"

/* A request's own state, with its URI as received, since libmicrohttpd decodes it. */
struct request {
	bool seen;
	bool last;  /* its client wants the connection to end with the answer */
	bool whole; /* it was read whole, and is `last` */
	struct mw_job *job; /* the relay's job; NULL: none */
	size_t got;  /* bytes of its body so far */
	char *body;  /* owned; MW_LOGIN_BODY_MAX + 1 bytes. NULL: not kept */
	char *query; /* owned; the target's query and a form's fields (form.h). NULL: only uri has one */
	const char *raw; /* where libmicrohttpd had the URI: see check_head.h */
	char uri[];
};

/* An answer's body; lives until libmicrohttpd is done with it. */
struct held {
	struct mw_buf buf;
};

static struct mw_conn *conn_of(struct MHD_Connection *mc)
{
	const union MHD_ConnectionInfo *info =
		mw_mhd->get_connection_info(mc, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void *begin_request(void *unused, const char *uri, struct MHD_Connection *mc)
{
	size_t n = uri ? strlen(uri) + 1 : 0;
	struct request *r = n ? malloc(sizeof(*r) + n) : NULL;

	(void)unused;
	(void)mc;
	if (r) {
		r->seen = r->whole = r->last = false;
		r->job = NULL;
		r->got = 0;
		r->body = NULL;
		r->query = NULL;
		r->raw = uri;
		memcpy(r->uri, uri, n);
	}
	if (n)
		mw_head_target(uri);
	return r;
}

static const char *mhd_header(void *ctx, const char *name)
{
	return mw_mhd->lookup_connection_value(ctx, MHD_HEADER_KIND, name);
}

static size_t held_bytes; /* of answers in memory; the server's thread only */

static void free_held(void *cls)
{
	struct held *h = cls;

	held_bytes -= h->buf.cap;
	mw_buf_free(&h->buf);
	free(h);
}

static struct MHD_Response *plain(const char *text)
{
	struct MHD_Response *r =
		mw_mhd->create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
						    MHD_RESPMEM_PERSISTENT);

	if (r)
		mw_mhd->add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	return r;
}

/* Converts a response to libmicrohttpd's form; takes the body over. */
static struct MHD_Response *convert(struct mw_response *res)
{
	struct MHD_Response *r;
	struct held *h;

	if (res->asset) {
		r = mw_mhd->create_response_from_buffer(res->asset_len, (void *)(uintptr_t)res->asset,
							MHD_RESPMEM_PERSISTENT);
	} else {
		h = malloc(sizeof(*h));
		if (!h)
			return NULL;
		h->buf = res->body;
		res->body = (struct mw_buf){ 0 };
		held_bytes += h->buf.cap;
		r = mw_mhd->create_response_from_buffer_with_free_callback_cls(h->buf.n, h->buf.p,
									       free_held, h);
		if (!r)
			free_held(h);
	}
	return r;
}

static void add_headers(struct MHD_Response *r, const struct mw_response *res)
{
	struct mw_header h;

	if (*res->content_type)
		mw_mhd->add_response_header(r, "Content-Type", res->content_type);
	for (size_t i = 0; mw_response_header(res, i, &h); i++)
		mw_mhd->add_response_header(r, h.name, h.value);
	if (res->allow)
		mw_mhd->add_response_header(r, "Allow", res->allow);
	if (res->cookie.n)
		mw_mhd->add_response_header(r, "Set-Cookie", res->cookie.p);
	if (res->location.n)
		mw_mhd->add_response_header(r, "Location", res->location.p);
}

/* Takes r over; NULL ends the connection. */
static enum MHD_Result send_it(struct MHD_Connection *mc, unsigned status, struct MHD_Response *r)
{
	enum MHD_Result ret;

	if (!r)
		return MHD_NO;
	ret = mw_mhd->queue_response(mc, status, r);
	mw_mhd->destroy_response(r);
	return ret;
}

static enum MHD_Result busy(struct MHD_Connection *mc)
{
	struct MHD_Response *r = plain("too many answers are waiting for slow readers: try again\n");

	if (r)
		mw_mhd->add_response_header(r, "Retry-After", "1");
	return send_it(mc, MHD_HTTP_SERVICE_UNAVAILABLE, r);
}

static enum MHD_Result no_room(struct MHD_Connection *mc)
{
	struct MHD_Response *r = plain("too many live viewers (limit 8): try again later\n");

	if (r)
		mw_mhd->add_response_header(r, "Retry-After", "5");
	return send_it(mc, MHD_HTTP_SERVICE_UNAVAILABLE, r);
}

/* Answers with a line of text, which is copied. Reads no more of this connection. */
static enum MHD_Result refuse_request(struct MHD_Connection *mc, unsigned status, const char *why)
{
	char line[256];
	struct MHD_Response *r;

	snprintf(line, sizeof(line), "%.*s\n", (int)sizeof(line) - 2, why);
	r = mw_mhd->create_response_from_buffer(strlen(line), line, MHD_RESPMEM_MUST_COPY);

	if (r) {
		mw_mhd->add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
		mw_mhd->add_response_header(r, "Cache-Control", "no-store");
		mw_mhd->add_response_header(r, "Connection", "close");
	}
	return send_it(mc, status, r);
}

/*
 * The body turned out too large while being read. libmicrohttpd accepts no answer before it has
 * read all of it. Nothing of an answer was sent, so ours goes straight to the socket.
 */
static enum MHD_Result cut_off(const struct mw_conn *c)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n"
			 "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s\n",
			 sizeof(TOO_LARGE), TOO_LARGE);

	if (c && send(c->fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return MHD_NO; /* the client doesn't read */
	return MHD_NO;
}

/*
 * Compresses an answer if its client accepts gzip, or if it is a gzip file. Another process has
 * compressed its own answers.
 */
static void squeeze(struct mw_response *res, struct MHD_Connection *mc)
{
	const struct mw_request req = { .header = mhd_header, .ctx = mc };

	if (res->gzip_file)
		(void)mw_gzip_file(&res->body); /* without memory it goes out as it is: readers take both */
	else if (!res->asset && !res->passed.n && mw_takes_gzip(&req))
		res->gzip = res->stream || mw_gzip_whole(&res->body);
}

static enum MHD_Result send_response(struct MHD_Connection *mc, struct mw_conn *c, struct mw_job *job,
				     struct mw_response *res)
{
	unsigned status = (unsigned)res->status;
	bool stream = res->stream;
	struct MHD_Response *r;

	squeeze(res, mc);
	r = !stream    ? convert(res) :
	    res->relay ? mw_relay_stream(job) :
			 mw_live_open(mc, c, &res->body, &res->gzip);
	if (r)
		add_headers(r, res);
	mw_response_free(res);
	return !r && stream ? no_room(mc) : send_it(mc, status, r);
}

/*
 * Where a relative says its "/" is, if it relays this request; else "". For links only, but a
 * client that can't connect to the socket must not choose them.
 */
static const char *mount_of(struct mw_request *req, char *to, size_t size)
{
	const char *s = req->peer == MW_PEER_UNIX ? req->header(req->ctx, MW_RELAYED) : NULL;
	size_t n = s ? strlen(s) : 0;

	to[0] = '\0';
	if (!n || n > size || s[n - 1] != '/' ||
	    s[strspn(s, "/%-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")])
		return to;
	memcpy(to, s, n - 1);
	to[n - 1] = '\0';
	return to;
}

static enum mw_peer peer_of(const struct mw_conn *c)
{
	if (c && !c->tcp)
		return MW_PEER_UNIX;
	return mw_server.api->options()->listen_far ? MW_PEER_FAR : MW_PEER_TCP;
}

static enum MHD_Result answer_request(struct MHD_Connection *mc, struct mw_conn *c, const char *method,
				      struct request *request)
{
	char *uri = request->uri;
	struct mw_request req = {
		.method = method,
		.path = uri,
		.peer = peer_of(c),
		.header = mhd_header,
		.ctx = mc,
		.site = mw_own_site(),
		.access = mw_server.api->options()->token_file ? mw_token_access() : NULL,
		.body = request->body,
		.body_n = request->got < MW_LOGIN_BODY_MAX ? request->got : MW_LOGIN_BODY_MAX,
		.body_cut = request->got > MW_LOGIN_BODY_MAX,
	};
	char mount[256], base[sizeof(mount) + 40];
	bool form = request->body && mw_family_flags(uri) & MW_ROUTE_FORM, wanted;
	char *query = strchr(uri, '?');
	struct mw_response res;
	const char *why;
	unsigned status;

	if (query) {
		*query = '\0';
		req.query = query + 1;
	}
	status = form ? mw_form_to_query(&req, &request->query, &why) : 0;
	if (status)
		return refuse_request(mc, status, why);
	req.base = req.mount = mount_of(&req, mount, sizeof(mount));
	if (req.peer == MW_PEER_UNIX)
		req.no_post = req.header(req.ctx, MW_NO_POST);
	/* a look at their names: "/" depends on it, and so do the links of pages */
	req.relatives = (!strcmp(req.path, "/") || strstr(mw_header_text(&req, "Accept"), "text/html")) &&
			mw_family_relatives(mw_own_family());
	wanted = mw_family_wants(req.path, (long)mw_server.pid, req.relatives, &req.path);
	if (req.path != uri) { /* "/PID/..." of this process */
		snprintf(base, sizeof(base), "%s%.*s", mount, (int)(req.path - uri), uri);
		req.base = base;
	}
	if (wanted || mw_route_waits(&req)) {
		/* tokens and sessions belong to this thread */
		if (mw_route_refuses(mw_server.api, &req, &res))
			return send_response(mc, c, NULL, &res);
		request->job = mw_relay_begin(mc, c, &req);
		return request->job ? MHD_YES : busy(mc);
	}
	mw_route(mw_server.api, &req, &res);
	return send_response(mc, c, NULL, &res);
}

/* Called once resumed: the answer is there, or the server ends. */
static enum MHD_Result answer_relayed(struct MHD_Connection *mc, struct mw_conn *c, struct mw_job *job)
{
	struct mw_response *res = mw_relay_response(job);

	return res ? send_response(mc, c, job, res) : MHD_NO;
}

static bool wants_body(const char *method, const char *uri)
{
	unsigned flags = mw_family_flags(uri);

	if (strcmp(method, "POST") != 0)
		return false;
	return flags & MW_ROUTE_BODY ? mw_server.api->options()->token_file != NULL : flags & MW_ROUTE_FORM;
}

/* Takes a piece of the body. False: the body is too large. */
static bool take_body(struct request *r, const char *data, size_t n)
{
	size_t room = r->got < MW_LOGIN_BODY_MAX ? MW_LOGIN_BODY_MAX - r->got : 0;

	if (n > BODY_MAX - r->got)
		return false;
	if (r->body)
		memcpy(r->body + r->got, data, n < room ? n : room);
	r->got += n;
	if (r->body)
		r->body[r->got < MW_LOGIN_BODY_MAX ? r->got : MW_LOGIN_BODY_MAX] = '\0';
	return true;
}

static const char *header_or_empty(struct MHD_Connection *mc, const char *name)
{
	const char *value = mhd_header(mc, name);

	return value ? value : "";
}

/* The first call for a request: its head is complete, and nothing behind it was read. */
static enum MHD_Result look_at_head(struct MHD_Connection *mc, struct request *r, const char *method,
				    const char *version)
{
	const struct mw_head head = { .method = method, .version = version, .raw = r->raw, .target = r->uri };
	uint64_t length;
	const char *why = mw_head_wrong(mc, &head, &length);

	r->seen = true;
	r->last = !strcmp(version, "HTTP/1.0") || strcasestr(header_or_empty(mc, "Connection"), "close");
	if (why)
		return refuse_request(mc, MHD_HTTP_BAD_REQUEST, why);
	if (length > BODY_MAX) /* also if the client waits for 100 Continue */
		return refuse_request(mc, MHD_HTTP_CONTENT_TOO_LARGE, TOO_LARGE);
	if (wants_body(method, r->uri)) {
		r->body = calloc(1, MW_LOGIN_BODY_MAX + 1);
		return r->body ? MHD_YES : MHD_NO;
	}
	return MHD_YES;
}

static enum MHD_Result handle(void *unused, struct MHD_Connection *mc, const char *url, const char *method,
			      const char *version, const char *data, size_t *size, void **ctx)
{
	struct request *r = *ctx;
	struct mw_conn *c = conn_of(mc);
	uint64_t now;

	(void)unused;
	(void)url;
	if (!r)
		return send_it(mc, MHD_HTTP_INTERNAL_SERVER_ERROR, plain("out of memory\n"));
	if (!r->seen)
		return look_at_head(mc, r, method, version);
	if (*size) {
		if (!take_body(r, data, *size))
			return cut_off(c);
		*size = 0;
		return MHD_YES;
	}
	r->whole = r->last;
	if (r->job)
		return answer_relayed(mc, c, r->job);
	now = mw_now_ms();
	if (c)
		mw_conn_phase(c, MW_CONN_ANSWERING, now);
	if (held_bytes > HELD_MAX) {
		mw_connections_drop_slow(c, now);
		return busy(mc);
	}
	return answer_request(mc, c, method, r);
}

static void completed(void *unused, struct MHD_Connection *mc, void **ctx,
		      enum MHD_RequestTerminationCode how)
{
	struct mw_conn *c = conn_of(mc);
	struct request *r = *ctx;

	(void)unused;
	/* if the connection closes, too, libmicrohttpd closes it before MHD_run() returns */
	if (c && r && r->whole && how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		c->over = atomic_load(&mw_server.moves);
	if (r && r->job)
		mw_relay_end(r->job);
	if (r && r->body) {
		explicit_bzero(r->body, MW_LOGIN_BODY_MAX); /* it contains a token */
		free(r->body);
	}
	if (r)
		free(r->query);
	free(r);
	*ctx = NULL;
	if (c)
		mw_conn_phase(c, MW_CONN_WAITING, mw_now_ms());
}

static void connection(void *unused, struct MHD_Connection *mc, void **ctx,
		       enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;
	struct mw_conn *c = *ctx;

	(void)unused;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		info = mw_mhd->get_connection_info(mc, MHD_CONNECTION_INFO_CONNECTION_FD);
		*ctx = info ? mw_conn_of(info->connect_fd) : NULL;
	} else if (c) {
		mw_linger(c, mw_now_ms());
		c->fd = -1;
		*ctx = NULL;
	}
}

/*
 * Targets are decoded from begin_request()'s copy. libmicrohttpd decodes its own copy, which is unused;
 * from 1.0 on it would answer broken ones itself, in HTML.
 */
static size_t leave_escaped(void *unused, struct MHD_Connection *mc, char *s)
{
	(void)unused;
	(void)mc;
	return strlen(s);
}

struct MHD_Daemon *mw_serve_open(void)
{
	/*
	 * No Date header: for it libmicrohttpd calls gmtime_r(), which holds glibc's time zone
	 * lock. A child forked meanwhile would never get that lock.
	 */
	const unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_SUPPRESS_DATE_NO_CLOCK |
			       /*
			        * only this thread resumes, and needs no channel to be woken by;
			        * libmicrohttpd 1.0 would make one that a forked child keeps
			        */
			       (MHD_ALLOW_SUSPEND_RESUME & ~MHD_USE_ITC);

	held_bytes = 0; /* a daemon that wasn't stopped may have left some */
	/* clang-format off */
	return mw_mhd->start_daemon(flags, 0, NULL, NULL, handle, NULL,
				MHD_OPTION_CONNECTION_LIMIT, mw_connections_max(),
				MHD_OPTION_CONNECTION_TIMEOUT, (MW_REQUEST_MS + 999u) / 1000,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONN_MEMORY,
				MHD_OPTION_URI_LOG_CALLBACK, begin_request, NULL,
				MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
				MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
				MHD_OPTION_NOTIFY_CONNECTION, connection, NULL,
				MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
				STRICT
				MHD_OPTION_END);
	/* clang-format on */
}
