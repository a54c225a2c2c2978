/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes.c - the route table and what holds for every request. See routes.h. */
#include "routes.h"

#include <string.h>
#include <strings.h>

#include "login.h"
#include "pages.h"
#include "web.h"

/*
 * PUBLIC: needs no token, and is no control (read_only doesn't matter). LOGIN: is there
 * only where there is a token.
 */
enum { GET = 1, POST = 2, PUBLIC = 4, LOGIN = 8 };

struct route {
	unsigned methods;
	const char *pattern; /* a "*" at the end stands for anything, also for nothing */
	void (*handler)(struct mw_call *);
};

static void page_asset(struct mw_call *);
static void page_objects(struct mw_call *);

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
	{ GET, "/heap_pages", mw_page_heap_pages },
	{ GET, "/heap_pages.*", mw_page_heap_pages },
	{ GET, "/objects*", page_objects },
	{ GET, "/metrics", mw_page_metrics },
	{ GET, "/stats.json", mw_page_stats },
	{ GET, "/history.json", mw_page_history },
	{ GET, "/live", mw_page_live },
	{ GET, "/source", mw_page_source },
	{ GET, "/family/self", mw_page_self },
	{ GET, "/family/table", mw_page_table },
	{ POST, "/reset", mw_page_reset },
	{ POST, "/clear", mw_page_reset },
	{ POST, "/trim", mw_page_trim },
	{ POST, "/mark", mw_page_mark },
	{ POST, "/mark/clear", mw_page_mark_clear },
	{ POST, "/pause", mw_page_pause },
	{ POST, "/resume", mw_page_resume },
	{ GET | POST | PUBLIC | LOGIN, "/login", mw_page_login },
	{ POST | PUBLIC | LOGIN, "/logout", mw_page_logout },
	{ GET, "/*", page_asset }, /* last: 404 for what is none */
};

/* Of every response; the first depends on what it is. */
static const struct mw_header no_store = { "Cache-Control", "no-store" };
static const struct mw_header ask_again = { "Cache-Control", "no-cache" };
static const struct mw_header for_ever = { "Cache-Control", "max-age=31536000, immutable" };
static const struct mw_header nosniff = { "X-Content-Type-Options", "nosniff" };
/* not "no-referrer": with that, browsers say "Origin: null" for our own forms */
static const struct mw_header referrer = { "Referrer-Policy", "same-origin" };
/* of 401 and 429 */
static const struct mw_header challenge = { "WWW-Authenticate", "Bearer realm=\"mwrap\"" };
static const struct mw_header retry = { "Retry-After", "1" };
/* of HTML */
static const struct mw_header policy = {
	"Content-Security-Policy",
	"default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
	"base-uri 'none'; frame-ancestors 'none'"
};
static const struct mw_header script_policy = {
	"Content-Security-Policy",
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	"img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
};
/* of assets */
static const struct mw_header vary = { "Vary", "Accept-Encoding" };
static const struct mw_header gzipped = { "Content-Encoding", "gzip" };

/* The i-th of what another process said. */
static const struct mw_header *passed(const struct mw_response *res, size_t i)
{
	static __thread struct mw_header h;
	const char *s = res->passed.p, *end = s + res->passed.n;

	for (; s < end; i--) {
		h.name = s;
		h.value = s + strlen(s) + 1;
		if (!i)
			return &h;
		s = h.value + strlen(h.value) + 1;
	}
	return NULL;
}

const struct mw_header *mw_response_header(const struct mw_response *res, size_t i)
{
	bool html = res->content_type && !strncmp(res->content_type, "text/html", 9);
	const struct mw_header *all[10];
	size_t n = 0;

	if (res->passed.n)
		return passed(res, i);

	all[n++] = !res->etag ? &no_store : res->forever ? &for_ever : &ask_again;
	all[n++] = &nosniff;
	all[n++] = &referrer;
	if (res->status == 401)
		all[n++] = &challenge;
	if (res->status == 429)
		all[n++] = &retry;
	if (html)
		all[n++] = res->script ? &script_policy : &policy;
	if (res->etag) {
		all[n++] = res->etag;
		all[n++] = &vary;
	}
	if (res->gzip)
		all[n++] = &gzipped;
	return i < n ? all[i] : NULL;
}

void mw_response_free(struct mw_response *res)
{
	mw_buf_free(&res->body);
	mw_buf_free(&res->location);
	mw_buf_free(&res->passed);
	mw_buf_free(&res->cookie);
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

const struct mw_web_file *mw_asset(const char *name)
{
	for (size_t i = 0; i < mw_web_files_n; i++)
		if (mw_web_files[i].type && !strcmp(mw_web_files[i].name, name))
			return &mw_web_files[i];
	return NULL;
}

static const char *header(const struct mw_request *req, const char *name)
{
	const char *value = req->header ? req->header(req->ctx, name) : NULL;

	return value ? value : "";
}

/* The client has that very content. */
static bool has_it(const struct mw_request *req, const struct mw_web_file *f)
{
	return strstr(header(req, "If-None-Match"), f->etag.value) != NULL;
}

/* A URL with "?v=VERSION", as pages have it. */
static bool names_version(const char *query, const char *version)
{
	return query && !strncmp(query, "v=", 2) && !strcmp(query + 2, version);
}

/* "gzip" is in Accept-Encoding, and not with "q=0". */
static bool takes_gzip(const struct mw_request *req)
{
	for (const char *s = header(req, "Accept-Encoding"); *s;) {
		size_t n = strcspn(s, ","), name = strcspn(s, ",; \t");
		const char *q = memmem(s, n, "q=0", 3);

		if (name == 4 && !strncasecmp(s, "gzip", 4))
			return !q || strspn(q + 3, ".0") < strcspn(q + 3, ", \t");
		s += n;
		s += strspn(s, ", \t");
	}
	return false;
}

static void page_asset(struct mw_call *call)
{
	const struct mw_web_file *f = mw_asset(call->rest);
	struct mw_response *res = call->res;

	if (!f) {
		mw_reply(call, 404, "no such page");
		return;
	}
	set_asset(res, 200, f->type, f->data, f->size);
	res->etag = &f->etag;
	res->forever = names_version(call->req->query, f->version);
	if (has_it(call->req, f)) {
		set_asset(res, 304, f->type, "", 0);
	} else if (f->gzip && takes_gzip(call->req)) {
		set_asset(res, 200, f->type, f->gzip, f->gzip_size);
		res->gzip = true;
	}
}

bool mw_read_only(const struct mw_call *call)
{
	return call->api->options()->read_only || (call->req->no_post && !call->req->ask_who);
}

/* lib/mwrap/objects.rb has these, for who can take Ruby's lock: a thread of ours never does. */
static void page_objects(struct mw_call *call)
{
	mw_reply(call, 404,
		 *call->rest && !strchr("/.", *call->rest) ?
			 "no such page" :
			 "only through the Rack endpoint: Ruby itself has to be asked for its objects");
}

void mw_page_stats(struct mw_call *call)
{
	mw_reply_form(call, MW_FORM_JSON);
	/* a descriptor opened here would be lost in a child forked meanwhile */
	mw_render_stats_json(&call->res->body, call->api, call->req->site ? call->req->site->statm : -1);
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

/* What a route takes, for Allow and for people. */
static const char *methods_allowed(unsigned methods)
{
	return !(methods & GET) ? "POST" : methods & POST ? "GET, HEAD, POST" : "GET, HEAD";
}

static void reply_405(struct mw_call *call, unsigned methods)
{
	mw_reply(call, 405,
		 !(methods & GET) ? "POST only" :
		 methods & POST   ? "GET, HEAD and POST only" :
				    "GET and HEAD only");
	call->res->allow = methods_allowed(methods);
}

/* What no request of ours has: a NUL ends a name for whoever reads it in C, and means nothing in any. */
static bool has_nul(const char *s)
{
	return s && strstr(s, "%00");
}

/* A list, as servers make it of a header that is there twice: who takes which of them? */
static bool is_list(const struct mw_request *req, const char *name)
{
	return strchr(header(req, name), ',');
}

static size_t parameters(const char *query)
{
	size_t n = 1;

	for (; query && *query; query++)
		n += *query == '&';
	return n;
}

bool mw_request_wrong(struct mw_call *call)
{
	const struct mw_request *req = call->req;

	if (has_nul(req->path) || has_nul(req->query))
		mw_reply(call, 400, "the address has a NUL byte in it");
	else if (is_list(req, "Host") || is_list(req, "Origin") || is_list(req, "Sec-Fetch-Site"))
		mw_reply(call, 400, "a header is there twice that may be there once");
	else if (parameters(req->query) > MW_PARAMETERS_MAX)
		mw_reply(call, 414, "the address has too many parameters");
	else
		return false;
	return true;
}

/* Answers what the route's handler need not see. */
static bool refused(struct mw_call *call, const struct route *r)
{
	bool asset = r->handler == page_asset && mw_asset(call->rest);
	unsigned method = method_of(call->req->method);

	/* our own files, which are anybody's, make the login's page look right */
	if (call->req->access && !(r->methods & PUBLIC) && !(asset && method == GET) && !mw_admitted(call))
		return true;
	if (mw_request_wrong(call))
		return true;
	/* an unknown page is unknown to every method */
	if (r->handler == page_asset && !asset)
		return false;
	if (!(method & r->methods)) {
		reply_405(call, r->methods);
		return true;
	}
	if (method != POST)
		return false;
	if (!mw_origin_allowed(call->req))
		mw_reply(call, 403, "refused: this request comes from a page of another origin");
	else if (call->api->options()->read_only && !(r->methods & PUBLIC))
		mw_reply(call, 403, "refused: the option read_only is set");
	else if (call->req->no_post)
		mw_reply(call, call->req->ask_who ? 401 : 403, call->req->no_post);
	else
		return false;
	return true;
}

static bool wrong_host(struct mw_call *call)
{
	if (mw_host_allowed(call->req))
		return false;
	mw_reply(call, 403, "refused: the Host header must name localhost, 127.0.0.1 or [::1]");
	return true;
}

static void dispatch(struct mw_call *call)
{
	if (wrong_host(call))
		return;
	if (call->req->path[0] != '/') {
		mw_reply(call, 400, "the path must start with a slash");
		return;
	}
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		call->rest = match(routes[i].pattern, call->req->path);
		if (!call->rest || (routes[i].methods & LOGIN && !call->req->access))
			continue;
		if (!refused(call, &routes[i]))
			routes[i].handler(call);
		return;
	}
	mw_reply(call, 404, "no such page");
}

static void settle(struct mw_response *res)
{
	if (res->body.failed || res->location.failed || res->cookie.failed)
		no_memory(res);
}

bool mw_route_refuses(const struct mw_api *api, const struct mw_request *req, struct mw_response *res)
{
	struct mw_call call = { .api = api, .req = req, .res = res, .rest = "" };
	bool refuses;

	memset(res, 0, sizeof(*res));
	refuses = wrong_host(&call) || (req->access && !mw_admitted(&call));
	settle(res);
	return refuses;
}

void mw_route(const struct mw_api *api, const struct mw_request *req, struct mw_response *res)
{
	struct mw_call call = { .api = api, .req = req, .res = res, .rest = "" };

	memset(res, 0, sizeof(*res));
	dispatch(&call);
	settle(res);
}
