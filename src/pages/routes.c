/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes.c - the route table and what holds for every request. See routes.h. */
#include "routes.h"

#include <string.h>

#include "pages.h"
#include "web.h"

enum { GET = 1, POST = 2 };

struct route {
	unsigned methods;
	const char *pattern; /* a "*" at the end stands for anything, also for nothing */
	void (*handler)(struct mw_call *);
};

static void page_asset(struct mw_call *);

/* The first one that matches counts. */
static const struct route routes[] = {
	{ GET, "/", mw_page_home },
	{ GET, "/each", mw_page_each },
	{ GET, "/each/*", mw_page_each },
	{ GET, "/at", mw_page_at },
	{ GET, "/at.*", mw_page_at },
	{ GET, "/at/*", mw_page_at },
	{ GET, "/overruns", mw_page_overruns },
	{ GET, "/overruns.*", mw_page_overruns },
	{ GET, "/stats.json", mw_page_stats },
	{ POST, "/reset", mw_page_reset },
	{ POST, "/clear", mw_page_reset },
	{ POST, "/trim", mw_page_trim },
	{ POST, "/pause", mw_page_pause },
	{ POST, "/resume", mw_page_resume },
	{ GET, "/*", page_asset }, /* last: 404 for what is none */
};

static const struct mw_header headers[] = {
	{ "Cache-Control", "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
	/* not "no-referrer": with that, browsers say "Origin: null" for our own forms */
	{ "Referrer-Policy", "same-origin" },
	{ "Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; "
				     "base-uri 'none'; frame-ancestors 'none'" },
};

const struct mw_header *mw_response_header(const struct mw_response *res, size_t i)
{
	size_t n = sizeof(headers) / sizeof(headers[0]);

	if (!res->content_type || strncmp(res->content_type, "text/html", 9))
		n--; /* the policy is for HTML */
	return i < n ? &headers[i] : NULL;
}

void mw_response_free(struct mw_response *res)
{
	mw_buf_free(&res->body);
	mw_buf_free(&res->location);
}

static void set_asset(struct mw_response *res, int status, const char *type, const void *p, size_t n)
{
	mw_response_free(res);
	res->status = status;
	res->content_type = type;
	res->asset = p;
	res->asset_len = n;
}

static void no_memory(struct mw_response *res)
{
	static const char text[] = "out of memory\n";

	set_asset(res, 500, "text/plain; charset=utf-8", text, sizeof(text) - 1);
}

void mw_reply(struct mw_call *call, int status, const char *line)
{
	struct mw_response *res = call->res;

	res->status = status;
	res->content_type = "text/plain; charset=utf-8";
	res->body.n = 0;
	mw_buf_str(&res->body, line);
	mw_buf_str(&res->body, "\n");
}

void mw_reply_why(struct mw_call *call, int status, struct mw_buf *why)
{
	mw_buf_add(why, "", 1);
	if (status == 500 || why->failed)
		no_memory(call->res);
	else
		mw_reply(call, status, why->p);
	mw_buf_free(why);
}

void mw_reply_form(struct mw_call *call, enum mw_form form)
{
	call->res->status = 200;
	call->res->content_type = mw_form_type(form);
}

static const struct mw_web_file *find_asset(const char *name)
{
	for (size_t i = 0; i < mw_web_files_n; i++)
		if (mw_web_files[i].type && !strcmp(mw_web_files[i].name, name))
			return &mw_web_files[i];
	return NULL;
}

static void page_asset(struct mw_call *call)
{
	const struct mw_web_file *f = find_asset(call->rest);

	if (f)
		set_asset(call->res, 200, f->type, f->data, f->size);
	else
		mw_reply(call, 404, "no such page");
}

void mw_page_stats(struct mw_call *call)
{
	mw_reply_form(call, MW_FORM_JSON);
	mw_render_stats_json(&call->res->body, call->api);
}

/* What is behind the pattern's "*", or "" for an exact match; NULL: no match. */
static const char *match(const char *pattern, const char *path)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] != '*')
		return strcmp(pattern, path) ? NULL : "";
	return strncmp(pattern, path, n - 1) ? NULL : path + n - 1;
}

static unsigned method_of(const char *name)
{
	if (!strcmp(name, "GET") || !strcmp(name, "HEAD"))
		return GET;
	return strcmp(name, "POST") ? 0 : POST;
}

/* Answers what the route's handler need not see. */
static bool refused(struct mw_call *call, const struct route *r)
{
	/* an unknown page is unknown to every method */
	if (r->handler == page_asset && !find_asset(call->rest))
		return false;
	if (!(method_of(call->req->method) & r->methods)) {
		mw_reply(call, 405, r->methods == POST ? "POST only" : "GET and HEAD only");
		call->res->allow = r->methods == POST ? "POST" : "GET, HEAD";
		return true;
	}
	if (!(r->methods & POST))
		return false;
	if (!mw_origin_allowed(call->req))
		mw_reply(call, 403, "refused: this request comes from a page of another origin");
	else if (call->api->options()->read_only)
		mw_reply(call, 403, "refused: the option read_only is set");
	else
		return false;
	return true;
}

static void dispatch(struct mw_call *call)
{
	if (!mw_host_allowed(call->req)) {
		mw_reply(call, 403, "refused: the Host header must name localhost, 127.0.0.1 or [::1]");
		return;
	}
	if (call->req->path[0] != '/') {
		mw_reply(call, 400, "the path must start with a slash");
		return;
	}
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		call->rest = match(routes[i].pattern, call->req->path);
		if (!call->rest)
			continue;
		if (!refused(call, &routes[i]))
			routes[i].handler(call);
		return;
	}
	mw_reply(call, 404, "no such page");
}

void mw_route(const struct mw_api *api, const struct mw_request *req, struct mw_response *res)
{
	struct mw_call call = { .api = api, .req = req, .res = res, .rest = "" };

	memset(res, 0, sizeof(*res));
	dispatch(&call);
	if (res->body.failed || res->location.failed)
		no_memory(res);
}
