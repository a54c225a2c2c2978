/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.c - from a request for another process, or for all, to a response.
 * See family.h.
 *
 * A request for another process is relayed as it is, "/PID/..." included. The
 * header X-Mwrap-Relayed says where "/" is mounted. A process that gets this
 * header answers for itself or not at all, which prevents loops.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/http/origin.h"
#include "server/pages/pages.h"
#include "shared/sys/namespace.h"
#include "shared/sys/sys.h"
#include "shared/sys/times.h"
#include "ask.h"
#include "family.h"
#include "gather.h"

/* /PID, /PID-NS and what is below; *ns is 0 without it */
static bool numbered(const char *path, long *pid, uint64_t *ns, const char **rest)
{
	size_t n = path[0] == '/' ? mw_read_process(path + 1, strlen(path + 1), pid, ns) : 0;

	*rest = path + 1 + n;
	return n && (!**rest || **rest == '/');
}

static bool begins(const char *path, const char *with, const char **rest)
{
	size_t n = strlen(with);

	*rest = path + n;
	return !strncmp(path, with, n) && (!**rest || **rest == '/');
}

/* The list's own addresses, and "/", which comes here if there may be several processes. */
static bool list_form(const char *path, enum mw_form *form)
{
	static const char family[] = "/family";
	size_t n = strlen(path);

	*form = MW_FORM_HTML;
	if (!strcmp(path, "/"))
		return true;
	if (strncmp(path, family, sizeof(family) - 1))
		return false;
	return mw_form_suffix(path, n, form) == sizeof(family) - 1;
}

unsigned mw_family_flags(const char *target)
{
	const struct mw_route *r;
	const char *rest;
	uint64_t ns;
	long pid;

	if (!numbered(target, &pid, &ns, &rest) && !begins(target, "/all", &rest))
		rest = target;
	r = mw_route_of(rest, strcspn(rest, "?"));
	return r ? r->flags : 0;
}

bool mw_family_relatives(const struct mw_family *f)
{
	size_t n;

	free(mw_members(f, &n));
	return n > 1;
}

bool mw_family_wants(const char *path, long pid, bool relatives, const char **rest)
{
	enum mw_form form;
	const char *behind;
	uint64_t ns;
	long asked;

	*rest = path;
	if (numbered(path, &asked, &ns, &behind)) {
		if (asked != pid || (ns && ns != mw_pid_namespace()) || !*behind)
			return true;
		*rest = behind;
		return false;
	}
	if (!strcmp(path, "/"))
		return relatives;
	return begins(path, "/all", &behind) || list_form(path, &form);
}

/* "/PID" and "/all" are folders: relative links would go astray. */
static void to_folder(struct mw_call *call)
{
	struct mw_buf *to = &call->res->location;

	mw_reply(call, 301, "moved: the address must end in a slash");
	mw_buf_str(to, call->req->base);
	mw_buf_str(to, call->req->path);
	mw_buf_str(to, "/");
	mw_buf_add(to, "", 1);
}

/* --- another process ------------------------------------------------------------- */

static void forward(struct mw_ask *a, const struct mw_request *req)
{
	/* the headers that routes.c reads */
	static const char *const names[] = {
		"Host",          "Origin",          "Sec-Fetch-Site", "Referer",   "Accept",
		"If-None-Match", "Accept-Encoding", "Last-Event-ID",  "X-Mwrap-BT"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = mw_header(req, names[i]);

		if (value)
			mw_ask_header(a, names[i], value);
	}
}

static void pass_header(void *ctx, const char *name, const char *value)
{
	static const char *const own[] = { "Connection", "Content-Length", "Transfer-Encoding",
					   "Keep-Alive" };
	struct mw_response *res = ctx;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcasecmp(name, own[i]))
			return;
	mw_buf_add(&res->passed, name, strlen(name) + 1);
	mw_buf_add(&res->passed, value, strlen(value) + 1);
}

static bool is_stream(const char *rest)
{
	return mw_family_flags(rest) & MW_ROUTE_STREAM;
}

/* Turns the answer into the response. A stream continues from *a, which moves to res->relay. */
static void pass(struct mw_call *call, struct mw_ask **a)
{
	struct mw_response *res = call->res;

	res->status = (*a)->status;
	res->content_type = "";
	mw_buf_add(&res->body, (*a)->answer.p + (*a)->body, (*a)->answer.n - (*a)->body);
	mw_ask_headers(*a, pass_header, res);
	if ((*a)->stream && (*a)->fd >= 0 && res->status == 200) {
		res->stream = true;
		res->relay = *a;
		*a = NULL;
	}
	if (res->passed.failed)
		res->body.failed = true;
}

static void no_answer(struct mw_call *call, long pid, int error)
{
	struct mw_buf why = { 0 };

	mw_buf_fmt(&why, "process %ld ", pid);
	mw_buf_str(&why, error == ETIMEDOUT ? "doesn\xe2\x80\x99t answer" : "can\xe2\x80\x99t be asked: ");
	if (error != ETIMEDOUT)
		mw_buf_str(&why, mw_sys_error(error));
	mw_reply_why(call, error == ETIMEDOUT ? 504 : 502, &why);
}

/* Does its name allow a member to be this process? ns: 0 if any namespace will do. */
static bool may_be(const struct mw_member *m, long pid, uint64_t ns)
{
	return !m->pid || (m->pid == pid && (!ns || !m->ns || m->ns == ns));
}

/* How well a member fits: 2: it is this process; 1: perhaps, as nothing tells; 0: it isn't. */
static int fits(const struct mw_member *m, long pid, uint64_t ns)
{
	uint64_t its_ns;
	long its_pid;

	if (!may_be(m, pid, ns))
		return 0;
	if (!mw_member_identify(m, &its_pid, &its_ns))
		return m->pid && !ns ? 2 : 1;
	return its_pid == pid && (!ns || !its_ns || its_ns == ns) ? 2 : 0;
}

/* The socket of that process. "": none. Returns how many it may be that fit as well. */
static size_t socket_of(const struct mw_family *f, long pid, uint64_t ns, char socket[MW_SOCKET_PATH])
{
	size_t n, found = 0;
	struct mw_member *m = mw_members(f, &n);
	int best = 0;

	socket[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		int fit = fits(&m[i], pid, ns);

		found = fit > best ? 1 : found + (fit && fit == best);
		if (fit > best) {
			best = fit;
			strcpy(socket, m[i].socket);
		}
	}
	free(m);
	return found;
}

/* By names alone: the caller may share its descriptors with the owner of a lock, which reading it would drop. */
bool mw_family_streams(const struct mw_family *f, const char *path, long pid)
{
	struct mw_member *m;
	const char *rest;
	bool is = false;
	uint64_t ns;
	long asked;
	size_t n;

	if (!numbered(path, &asked, &ns, &rest) || (asked == pid && (!ns || ns == mw_pid_namespace())) ||
	    !is_stream(rest))
		return false;
	m = mw_members(f, &n);
	for (size_t i = 0; i < n; i++)
		is |= may_be(&m[i], asked, ns);
	free(m);
	return is;
}

/*
 * A relative is asked on its Unix socket, where a recording may have any path and size. A client that asks this process
 * over TCP may not choose these, so it isn't passed on.
 */
static bool fills_by_tcp(struct mw_call *call, const char *rest)
{
	const struct mw_request *req = call->req;

	if ((req->peer != MW_PEER_TCP && req->peer != MW_PEER_FAR) ||
	    !(mw_family_flags(rest) & MW_ROUTE_DISK))
		return false;
	mw_reply(call, 403,
		 "trace/start: it can fill a disk, so TCP can't start it in other processes: ask the Unix socket");
	return true;
}

static void relay(struct mw_call *call, const struct mw_family *f, long pid, uint64_t ns, const char *rest)
{
	const struct mw_request *req = call->req;
	char socket[MW_SOCKET_PATH];
	struct mw_buf target = { 0 }, base = { 0 };
	struct mw_ask *a = NULL;
	size_t found;

	found = socket_of(f, pid, ns, socket);
	if (found != 1) {
		mw_reply(call, 404,
			 found ? "several processes of this family have this number: see their addresses in /family" :
				 "no such process in this family");
		return;
	}
	if (req->no_post && !strcmp(req->method, "POST")) {
		mw_reply(call, req->ask_who ? 401 : 403, req->no_post);
		return;
	}
	if (fills_by_tcp(call, rest))
		return;
	mw_buf_str(&target, req->path);
	if (req->query && *req->query) {
		mw_buf_str(&target, "?");
		mw_buf_str(&target, req->query);
	}
	mw_buf_add(&target, "", 1);
	mw_buf_str(&base, req->base);
	mw_buf_add(&base, "/", 2);
	a = malloc(sizeof(*a));
	if (a && !target.failed && !base.failed) {
		/* a HEAD's length is that of GET's body, which the sender then leaves out */
		mw_ask_begin(a, socket, strcmp(req->method, "HEAD") ? req->method : "GET", target.p);
		a->stream = is_stream(rest);
		mw_ask_header(a, MW_RELAYED, base.p);
		if (req->no_post && !req->ask_who)
			mw_ask_header(a, MW_NO_POST, req->no_post);
		mw_ask_token(a, f->token);
		forward(a, req);
		mw_ask_all(a, 1, MW_RELAY_MS);
		if (a->error == MW_STRANGER)
			mw_reply(call, 404, "no such process in this family");
		else if (a->error)
			no_answer(call, pid, a->error);
		else
			pass(call, &a);
	} else {
		call->res->body.failed = true;
	}
	if (a) {
		mw_ask_free(a);
		free(a);
	}
	mw_buf_free(&target);
	mw_buf_free(&base);
}

/* --- all ----------------------------------------------------------------------------- */

/* Appends the location of an /at, percent-encoded, for the question to each process. */
static void at_target(struct mw_buf *b, const struct mw_request *req, const char *rest)
{
	struct mw_params p;
	struct mw_buf why = { 0 };
	enum mw_form form;
	const char *s = rest + 3;
	size_t n = strlen(s);

	if (*s == '/') { /* percent-encoded already */
		n = mw_form_suffix(s + 1, n - 1, &form);
		mw_buf_add(b, s + 1, n);
	} else {
		if (!mw_params_parse(&p, req->query, &why))
			mw_percent_encode(b, p.v[MW_PARAM_LOCATION].s, p.v[MW_PARAM_LOCATION].n);
		mw_params_free(&p);
	}
	mw_buf_free(&why);
}

/* All, as a table that a page can show; false: no memory. */
static bool page_of_parts(struct mw_call *call, const struct mw_request *req, struct mw_gathered *g)
{
	const struct mw_api *api;

	mw_inheritance(g->parts, g->answered);
	api = mw_sum_api(g->parts, g->answered, call->api);
	if (!api)
		return false;
	mw_route(api, req, call->res);
	mw_sum_end();
	return true;
}

static bool keeps_stacks(const struct mw_api *api)
{
	struct mw_stats s = { 0 };

	api->stats(&s);
	return s.stacks_rate || s.stacks;
}

/* Answers with the sum of all processes' tables, by the page that req asks for. */
static void page_of_sum(struct mw_call *call, const struct mw_family *f, struct mw_request *req,
			enum mw_wire_what what)
{
	struct mw_grown_of_all grown;
	struct mw_buf query = { 0 }, missing = { 0 };
	struct mw_gathered g;
	bool done = false;

	if (what == MW_WIRE_AT)
		at_target(&query, call->req, req->path);
	else if (what == MW_WIRE_STACKS && mw_grown_query(call->req, call->api, &grown, &query))
		what = MW_WIRE_GROWN;
	mw_buf_add(&query, "", 1);
	if (!query.failed && !mw_gather(&g, f, call->api, what, query.p)) {
		if (what == MW_WIRE_GROWN && mw_grown_parts(&grown, g.parts, g.answered))
			req->grown = &grown;
		mw_overall_missing(&missing, &g);
		mw_buf_add(&missing, "", missing.n ? 1 : 0);
		req->missing = missing.n && !missing.failed ? missing.p : NULL;
		done = page_of_parts(call, req, &g);
		mw_gathered_free(&g);
	}
	if (!done)
		call->res->body.failed = true;
	req->missing = NULL;
	mw_buf_free(&missing);
	mw_buf_free(&query);
}

static void page_of_all(struct mw_call *call, const struct mw_family *f, const char *rest)
{
	struct mw_request req = *call->req;
	struct mw_buf base = { 0 };

	req.path = rest;
	req.site = NULL;
	mw_buf_str(&base, call->req->base);
	mw_buf_add(&base, "/all", 5);
	req.base = base.failed ? "" : base.p;
	req.mount = call->req->base;
	switch (mw_page_all(rest)) {
	case MW_ALL_TABLE: /* with kinds of memory, which stacks tell */
		page_of_sum(call, f, &req, keeps_stacks(call->api) ? MW_WIRE_STACKS : MW_WIRE_ALL);
		break;
	case MW_ALL_COUNTS:
		page_of_sum(call, f, &req, MW_WIRE_ALL);
		break;
	case MW_ALL_AT:
		page_of_sum(call, f, &req, MW_WIRE_AT);
		break;
	case MW_ALL_STACKS:
		page_of_sum(call, f, &req, MW_WIRE_STACKS);
		break;
	case MW_ALL_METRICS:
		mw_page_all_metrics(call, f, &req);
		break;
	case MW_ALL_MAP:
		mw_page_all_map(call, f, &req);
		break;
	case MW_ALL_VERDICT:
		mw_page_all_verdict(call, f, strcmp(rest, "/verdict") ? MW_FORM_JSON : MW_FORM_TSV);
		break;
	case MW_ALL_DIFF:
		mw_page_all_diff(call, f, rest + strlen("/diff"));
		break;
	case MW_ALL_FILE:
		mw_route(call->api, &req, call->res);
		break;
	case MW_ALL_EACH:
	case MW_ALL_MARK:
	case MW_ALL_NONE:
		mw_reply(call, 404, "no such page of all processes: /family lists them one by one");
		break;
	}
	mw_buf_free(&base);
}

/* A POST to all processes; the answer is the first one's line, with their number. */
static void all_do(struct mw_call *call, const struct mw_family *f, const char *rest)
{
	struct mw_buf line = { 0 };
	struct mw_did did;

	if (fills_by_tcp(call, rest))
		return;
	if (mw_all_do(&did, f, call->api, call->req, rest)) {
		call->res->body.failed = true;
		return;
	}
	if (did.status != 200) {
		mw_buf_add(&line, did.said.p, did.said.n);
		mw_reply_why(call, did.status, &line);
	} else {
		mw_buf_fmt(&line, "%zu of %zu processes: ", did.done, did.asked);
		mw_buf_add(&line, did.said.p, did.said.n);
		mw_done_text(call, &line);
	}
	mw_buf_free(&line);
	mw_buf_free(&did.said);
}

/* --- all of these ---------------------------------------------------------------------- */

void mw_family_answer(const struct mw_family *f, const struct mw_api *api, const struct mw_request *req,
		      struct mw_response *res)
{
	struct mw_call call = { .api = api, .req = req, .res = res, .rest = "" };
	bool get = !strcmp(req->method, "GET") || !strcmp(req->method, "HEAD");
	enum mw_form form;
	const char *rest;
	uint64_t ns;
	long pid;

	memset(res, 0, sizeof(*res));
	if (!mw_host_allowed(req)) {
		mw_route(api, req, res); /* answers with the reason */
		return;
	}
	if (mw_request_wrong(&call))
		return;
	if (mw_header(req, MW_RELAYED)) {
		mw_reply(&call, 404, "no such process in this family");
	} else if (list_form(req->path, &form)) {
		if (get)
			mw_page_family(&call, f, form);
		else
			mw_reply(&call, 405, "GET and HEAD only");
		res->allow = get ? NULL : "GET, HEAD";
	} else if (begins(req->path, "/all", &rest)) {
		if (!*rest)
			to_folder(&call);
		else if (get)
			page_of_all(&call, f, rest);
		else
			all_do(&call, f, rest);
	} else if (numbered(req->path, &pid, &ns, &rest)) {
		if (!*rest)
			to_folder(&call);
		else
			relay(&call, f, pid, ns, rest);
	}
	mw_missing_page(&call);
	if (res->body.failed || res->location.failed) {
		mw_response_free(res);
		mw_reply(&call, 500, "out of memory");
	}
}
