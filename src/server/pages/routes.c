/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes.c - finds a request's route, and checks every request. See routes.h. */
#include "routes.h"

#include <string.h>

#include "login.h"
#include "pages.h"
#include "server/http/assets.h"

/* The names in routes.def. */
enum {
	GET = MW_ROUTE_GET,
	POST = MW_ROUTE_POST,
	PUBLIC = MW_ROUTE_PUBLIC,
	LOGIN = MW_ROUTE_LOGIN,
	WAITS = MW_ROUTE_WAITS,
	STREAM = MW_ROUTE_STREAM,
	FORM = MW_ROUTE_FORM,
	BODY = MW_ROUTE_BODY,
	DISK = MW_ROUTE_DISK,
	HEAP = MW_ROUTE_HEAP,
	QUERY = MW_ROUTE_QUERY,
	FORMS = MW_ROUTE_FORMS,
	SITE = MW_ROUTE_SITE,
	EXACT = MW_ROUTE_EXACT
};

static const struct mw_route routes[] = {
#define MW_ROUTE(flags, pattern, handler, all) { flags, pattern, handler, MW_ALL_##all },
#include "api/routes.def"
#undef MW_ROUTE
};

void mw_page_asset(struct mw_call *call)
{
	const struct mw_web_file *f = mw_asset(call->rest);

	if (f)
		mw_asset_reply(f, call->req, call->res);
	else
		mw_reply(call, 404, "no such page");
}

/* lib/mwrap/objects.rb answers these with Ruby's lock (GVL), which a thread of ours never takes. */
void mw_page_objects(struct mw_call *call)
{
	mw_reply(call, 404,
		 *call->rest && !strchr("/.", *call->rest) ?
			 "no such page" :
			 "only through the Rack endpoint: Ruby itself has to be asked for its objects");
}

/* lib/mwrap/rack/endpoint.rb makes the mark if this doesn't refuse. */
void mw_page_objects_mark(struct mw_call *call)
{
	if (call->req->peer == MW_PEER_RACK)
		mw_done(call, "objects/mark: growth of Ruby's objects counts from now on",
			"Growth of Ruby's objects counts from now on.");
	else
		mw_page_objects(call);
}

/* The part of the path behind the pattern's "*", or its end for an exact match; NULL: no match. */
static const char *match(const char *pattern, const char *path, size_t path_n)
{
	size_t n = strlen(pattern), exact = n;

	if (pattern[n - 1] == '*')
		exact = --n;
	else if (path_n != n)
		return NULL;
	return path_n >= exact && !memcmp(pattern, path, n) ? path + n : NULL;
}

const struct mw_route *mw_route_of(const char *path, size_t n)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (match(routes[i].pattern, path, n))
			return &routes[i];
	return NULL;
}

enum mw_all mw_page_all(const char *rest)
{
	const struct mw_route *r = mw_route_of(rest, strlen(rest));

	return !r || (r->all == MW_ALL_FILE && !mw_asset(rest + 1)) ? MW_ALL_NONE : r->all;
}

static unsigned method_of(const char *name)
{
	if (!strcmp(name, "GET") || !strcmp(name, "HEAD"))
		return GET;
	return strcmp(name, "POST") ? 0 : POST;
}

/* The value of Allow for a route's methods. */
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

/* No link of ours has a NUL. It ends a name in C, and no valid name contains one. */
static bool has_nul(const char *s)
{
	return s && strstr(s, "%00");
}

/* Servers join duplicate headers to a list: the value is then ambiguous. */
static bool is_list(const struct mw_request *req, const char *name)
{
	return strchr(mw_header_text(req, name), ',');
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
		mw_reply(call, 400, "duplicate Host, Origin or Sec-Fetch-Site header");
	else if (parameters(req->query) > MW_PARAMETERS_MAX)
		mw_reply(call, 414, "the address has too many parameters");
	else
		return false;
	return true;
}

/* True: the request is refused and answered; the route's handler doesn't see it. */
static bool refused(struct mw_call *call, const struct mw_route *r)
{
	bool asset = r->handler == mw_page_asset && mw_asset(call->rest);
	unsigned method = method_of(call->req->method);

	/* assets need no token: the login page loads them */
	if (call->req->access && !(r->flags & PUBLIC) && !(asset && method == GET) && !mw_admitted(call))
		return true;
	if (mw_request_wrong(call))
		return true;
	/* an unknown page gets 404 for every method */
	if (r->handler == mw_page_asset && !asset)
		return false;
	if (!(method & r->flags)) {
		reply_405(call, r->flags);
		return true;
	}
	if (method != POST)
		return false;
	if (!mw_origin_allowed(call->req))
		mw_reply(call, 403, "refused: this request comes from a page of another origin");
	else if (call->api->options()->read_only && !(r->flags & PUBLIC))
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

/* Also sets call->rest. NULL: there is no such route. */
static const struct mw_route *find_route(struct mw_call *call)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		call->rest = match(routes[i].pattern, call->req->path, strlen(call->req->path));
		if (call->rest && (!(routes[i].flags & LOGIN) || call->req->access))
			return &routes[i];
	}
	return NULL;
}

/* Of a family's sum, whose page tells how many are: each of them? */
static bool all_sampled(const struct mw_stats *s)
{
	return s->sampled && s->sampling == s->processes;
}

/* Calls the route's handler with what it wants. */
static void answer_route(struct mw_call *call, const struct mw_route *r)
{
	int bad = 0;

	if (r->flags & SITE && !mw_has_site(call))
		return;
	if (r->flags & EXACT && all_sampled(mw_call_stats(call))) {
		mw_reply(call, 409,
			 "allocations are sampled, so most blocks aren't known: exact counting is off: POST /exact or mwrapctl exact turns it on");
		return;
	}
	if (r->flags & (QUERY | FORMS))
		bad = mw_params_parse(&call->params, call->req->query, &call->why);
	if (!bad && r->flags & FORMS)
		bad = mw_params_form_of(&call->params, call->rest, &call->form, &call->why);
	if (!mw_refused(call, bad))
		r->handler(call);
	mw_params_free(&call->params);
	mw_buf_free(&call->why);
}

static void dispatch(struct mw_call *call)
{
	const struct mw_route *r;

	if (wrong_host(call))
		return;
	if (call->req->path[0] != '/') {
		mw_reply(call, 400, "the path must start with a slash");
		return;
	}
	r = find_route(call);
	if (!r)
		mw_reply(call, 404, "no such page");
	else if (!refused(call, r))
		answer_route(call, r);
}

bool mw_route_waits(const struct mw_request *req)
{
	struct mw_call call = { .req = req };
	const struct mw_route *r = find_route(&call);

	return r && r->flags & WAITS && r->flags & method_of(req->method);
}

void mw_route_drop(struct mw_response *res)
{
	mw_map_free(res->map);
	res->map = NULL;
}

void mw_route_after(const struct mw_api *api, const struct mw_request *req, struct mw_response *res,
		    struct mw_site *site)
{
	struct mw_map *map = res->map;
	struct mw_request with = *req;

	if (res->event && site)
		mw_site_take_event(site, res->event, res->event_text.n ? res->event_text.p : NULL);
	if (!map)
		return;
	with.later = false;
	with.site = site;
	with.site_busy = !site;
	with.map = &map;
	mw_response_free(res);
	mw_route(api, &with, res);
	mw_map_free(map);
}

bool mw_route_refuses(const struct mw_api *api, const struct mw_request *req, struct mw_response *res)
{
	struct mw_call call = { .api = api, .req = req, .res = res, .rest = "" };
	bool refuses;

	memset(res, 0, sizeof(*res));
	refuses = wrong_host(&call) || (req->access && !mw_admitted(&call));
	mw_response_settle(res);
	return refuses;
}

void mw_route(const struct mw_api *api, const struct mw_request *req, struct mw_response *res)
{
	struct mw_call call = { .api = api, .req = req, .res = res, .rest = "" };

	memset(res, 0, sizeof(*res));
	dispatch(&call);
	mw_missing_page(&call);
	mw_response_settle(res);
}
