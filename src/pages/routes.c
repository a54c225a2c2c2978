/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes.c - the route table, and the checks of every request. See routes.h. */
#include "routes.h"

#include <string.h>

#include "login.h"
#include "map.h"
#include "pages.h"
#include "http/assets.h"

/*
 * PUBLIC: needs no token, and isn't a control (read_only doesn't matter). LOGIN: exists
 * only if the request has an `access`. WAITS: see mw_route_waits; these handlers work
 * without the site if the request is for `later`.
 */
enum { GET = 1, POST = 2, PUBLIC = 4, LOGIN = 8, WAITS = 16 };

struct route {
	unsigned methods;
	const char *pattern; /* a "*" at the end matches anything, also nothing */
	void (*handler)(struct mw_call *);
};

static void page_asset(struct mw_call *);
static void page_objects(struct mw_call *);
static void page_objects_mark(struct mw_call *);

/* The first match counts. */
static const struct route routes[] = {
	{ GET, "/", mw_page_home },
	{ GET, "/each", mw_page_each },
	{ GET, "/each/*", mw_page_each },
	{ GET, "/snapshot.tsv", mw_page_snapshot },
	{ GET, "/diff", mw_page_diff },
	{ GET, "/diff.*", mw_page_diff },
	{ GET, "/marks", mw_page_marks },
	{ GET, "/marks.*", mw_page_marks },
	{ GET | WAITS, "/at", mw_page_at },
	{ GET | WAITS, "/at.*", mw_page_at },
	{ GET | WAITS, "/at/*", mw_page_at },
	{ GET, "/overruns", mw_page_overruns },
	{ GET, "/overruns.*", mw_page_overruns },
	{ GET, "/heap_pages", mw_page_heap_pages },
	{ GET, "/heap_pages.*", mw_page_heap_pages },
	{ POST, "/objects/mark", page_objects_mark },
	{ GET, "/objects*", page_objects },
	{ GET | WAITS, "/holders", mw_page_holders },
	{ GET | WAITS, "/holders.*", mw_page_holders },
	{ GET | WAITS, "/map", mw_page_map },
	{ GET | WAITS, "/map.json", mw_page_map },
	{ GET | POST | WAITS, "/map/trim", mw_page_map_trim },
	{ GET, "/map/whatif", mw_page_map_whatif },
	{ GET, "/map/page/*", mw_page_map_one },
	{ GET, "/map/*", mw_page_map_piece },
	{ GET, "/metrics", mw_page_metrics },
	{ GET, "/stats.json", mw_page_stats },
	{ GET, "/stats", mw_page_stats_page },
	{ GET, "/help", mw_page_help },
	{ GET, "/history.json", mw_page_history },
	{ GET, "/history/locations.json", mw_page_locations },
	{ GET, "/verdict", mw_page_verdict },
	{ GET, "/verdict.json", mw_page_verdict },
	{ GET, "/flame", mw_page_stacks },
	{ GET, "/flame.json", mw_page_stacks },
	{ GET, "/kinds.json", mw_page_kinds },
	{ GET, "/stacks.collapsed", mw_page_stacks },
	{ GET, "/stacks.speedscope.json", mw_page_stacks },
	{ GET, "/debug/pprof/heap", mw_page_stacks },
	{ GET, "/debug/pprof/allocs", mw_page_stacks },
	{ GET, "/live", mw_page_live },
	{ GET, "/source", mw_page_source },
	{ GET | WAITS, "/family/map", mw_page_map_figures },
	{ GET, "/family/self", mw_page_self },
	{ GET, "/family/table", mw_page_table },
	{ GET, "/family/stacks", mw_page_table_stacks },
	{ GET, "/family/diff", mw_page_table_diff },
	{ POST, "/reset", mw_page_reset },
	{ POST, "/clear", mw_page_reset },
	{ POST | WAITS, "/trim", mw_page_trim },
	{ POST, "/mark", mw_page_mark },
	{ POST, "/mark/clear", mw_page_mark_clear },
	{ POST, "/annotate", mw_page_annotate },
	{ POST, "/pause", mw_page_pause },
	{ POST, "/resume", mw_page_resume },
	{ POST, "/ctl", mw_page_ctl },
	{ GET, "/trace.json", mw_page_trace },
	{ POST | WAITS, "/trace/start", mw_page_trace_start },
	{ POST | WAITS, "/trace/stop", mw_page_trace_stop },
	{ GET | POST | PUBLIC | LOGIN, "/login", mw_page_login },
	{ POST | PUBLIC | LOGIN, "/logout", mw_page_logout },
	{ GET, "/*", page_asset }, /* last: 404 if it isn't an asset */
};

static void page_asset(struct mw_call *call)
{
	const struct mw_web_file *f = mw_asset(call->rest);

	if (f)
		mw_asset_reply(f, call->req, call->res);
	else
		mw_reply(call, 404, "no such page");
}

bool mw_read_only(const struct mw_call *call)
{
	return call->api->options()->read_only || (call->req->no_post && !call->req->ask_who);
}

/* lib/mwrap/objects.rb answers these with Ruby's lock (GVL), which a thread of ours never takes. */
static void page_objects(struct mw_call *call)
{
	mw_reply(call, 404,
		 *call->rest && !strchr("/.", *call->rest) ?
			 "no such page" :
			 "only through the Rack endpoint: Ruby itself has to be asked for its objects");
}

/* lib/mwrap/rack/endpoint.rb makes the mark if this doesn't refuse. */
static void page_objects_mark(struct mw_call *call)
{
	if (call->req->peer == MW_PEER_RACK)
		mw_done(call, "objects/mark: growth of Ruby's objects counts from now on",
			"Growth of Ruby's objects counts from now on.");
	else
		page_objects(call);
}

/* The part of the path behind the pattern's "*", or "" for an exact match; NULL: no match. */
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

static const char *header(const struct mw_request *req, const char *name)
{
	const char *value = req->header ? req->header(req->ctx, name) : NULL;

	return value ? value : "";
}

/* Servers join a header that is there twice to a list: the value is then ambiguous. */
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

/* True: the request is refused and answered; the route's handler doesn't see it. */
static bool refused(struct mw_call *call, const struct route *r)
{
	bool asset = r->handler == page_asset && mw_asset(call->rest);
	unsigned method = method_of(call->req->method);

	/* assets need no token: the login page loads them */
	if (call->req->access && !(r->methods & PUBLIC) && !(asset && method == GET) && !mw_admitted(call))
		return true;
	if (mw_request_wrong(call))
		return true;
	/* an unknown page gets 404 for every method */
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

/* Also sets call->rest. NULL: there is no such route. */
static const struct route *find(struct mw_call *call)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		call->rest = match(routes[i].pattern, call->req->path);
		if (call->rest && (!(routes[i].methods & LOGIN) || call->req->access))
			return &routes[i];
	}
	return NULL;
}

static void dispatch(struct mw_call *call)
{
	const struct route *r;

	if (wrong_host(call))
		return;
	if (call->req->path[0] != '/') {
		mw_reply(call, 400, "the path must start with a slash");
		return;
	}
	r = find(call);
	if (!r)
		mw_reply(call, 404, "no such page");
	else if (!refused(call, r))
		r->handler(call);
}

bool mw_route_waits(const struct mw_request *req)
{
	struct mw_call call = { .req = req };
	const struct route *r = find(&call);

	return r && r->methods & WAITS && r->methods & method_of(req->method);
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
