/* SPDX-License-Identifier: GPL-2.0-or-later */
/* layout.c - the frame of every page: header, navigation, scripts. See pages.h. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "server/http/assets.h"
#include "pages.h"

static void warn(void *ctx, const char *text)
{
	struct mw_buf *b = ctx;

	mw_html_text_in(b, "<p class=\"warning\">", text, "</p>\n");
}

/* The process, or the sum of processes, that a page shows. */
struct whose {
	const struct mw_call *call;
	const struct mw_stats *stats;
};

/* Every page has the reasons why numbers are incomplete. */
static void state(struct mw_buf *b, void *ctx)
{
	const struct whose *w = ctx;

	mw_warnings(w->stats, warn, b);
	if (w->call->req->missing)
		warn(b, w->call->req->missing);
}

/* Is the list of the processes shown? Its other links are those of their sum. */
static bool is_list(const struct mw_call *call)
{
	return call->script && !strcmp(call->script, "family");
}

static void process(struct mw_buf *b, void *ctx)
{
	const struct whose *w = ctx;
	const struct mw_stats *s = w->stats;

	if (is_list(w->call))
		return; /* any of them may have answered */
	if (s->processes) {
		mw_buf_fmt(b, "sum of %" PRIu32 " processes", s->processes);
		return;
	}
	mw_buf_fmt(b, "pid %ld, up ", (long)getpid());
	mw_html_duration(b, s->uptime);
}

/* The URL of an asset; with its content's version, browsers cache it for ever. */
static void asset_url(struct mw_buf *b, const struct mw_call *call, const char *name)
{
	const struct mw_web_file *f = mw_asset(name);

	mw_html_text(b, call->req->base);
	mw_buf_fmt(b, "/%s", name);
	if (f)
		mw_buf_fmt(b, "?v=%s", f->version);
}

/* Is a page of this path shown? name: its first part. */
static bool is_here(const struct mw_request *req, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(req->path, name, n) && (!req->path[n] || strchr("/.", req->path[n]));
}

/* name: the first part of the path of each page that it stands for */
static void nav_link(struct mw_buf *b, const struct mw_request *req, const char *base, const char *path,
		     const char *name, const char *title)
{
	mw_buf_str(b, "<a href=\"");
	mw_html_text(b, base);
	mw_buf_fmt(b, "%s\"%s>%s</a> ", path, is_here(req, name) ? " aria-current=\"page\"" : "", title);
}

static void nav_item(struct mw_buf *b, const struct mw_request *req, const char *base, const char *path,
		     const char *name, const char *title)
{
	mw_buf_str(b, "<li>");
	nav_link(b, req, base, path, name, title);
	mw_buf_str(b, "</li>\n");
}

/* One word opens the links that few readers need. It works without scripts. */
static void more_menu(struct mw_buf *b, const struct mw_request *req, const char *base, bool one,
		      bool stacks)
{
	mw_buf_str(b, "<details class=\"menu more\"><summary>More</summary><ul>\n");
	nav_item(b, req, base, "/each/2000", "/each", "Locations");
	if (stacks)
		nav_item(b, req, base, "/labels", "/labels", "Labels");
	if (one) {
		nav_item(b, req, base, "/holders", "/holders", "Holders");
		nav_item(b, req, base, "/heap_pages", "/heap_pages", "Heap pages");
		if (req->peer == MW_PEER_RACK) /* the Rack side can ask Ruby itself */
			nav_item(b, req, base, "/objects", "/objects", "Objects");
	}
	nav_item(b, req, base, "/overruns", "/overruns", "Overruns");
	if (one) {
		nav_item(b, req, base, "/marks", "/marks", "Marks");
		nav_item(b, req, base, "/stats", "/stats", "Stats");
	}
	mw_buf_str(b, "</ul></details> ");
}

/* Links to the pages that exist for this request, in one order on every page. */
static void nav(struct mw_buf *b, void *ctx)
{
	const struct whose *w = ctx;
	const struct mw_request *req = w->call->req;
	bool list = is_list(w->call), one = !w->stats->processes && !list;
	const char *mount = req->mount ? req->mount : req->base;
	struct mw_buf own = { 0 };
	const char *base;

	mw_buf_str(&own, req->base);
	if (list)
		mw_buf_str(&own, "/all");
	else if (one && req->relatives && !strcmp(req->base, mount)) /* "/" is the list */
		mw_buf_fmt(&own, "/%ld", (long)getpid());
	mw_buf_add(&own, "", 1);
	base = own.failed ? req->base : own.p;
	mw_buf_str(b, "<a class=\"home\" href=\"");
	mw_html_text(b, mount);
	mw_buf_str(b, "/\">mwrap</a> ");
	mw_buf_str(b, "<a href=\"");
	mw_html_text(b, base);
	mw_buf_fmt(b, "/\"%s>Live</a> ", list || strcmp(req->path, "/") ? "" : " aria-current=\"page\"");
	if (w->stats->stacks_rate || w->stats->stacks) /* else each location stands for itself there */
		nav_link(b, req, base, "/flame", "/flame", "Flame graph");
	if (one) {
		nav_link(b, req, base, "/map", "/map", "Memory map");
		nav_link(b, req, base, "/diff", "/diff", "Compare");
	}
	if (req->mount) /* the family's pages are reachable */
		nav_link(b, req, mount, "/family", list ? req->path : "/family", "Processes");
	more_menu(b, req, base, one, w->stats->stacks_rate || w->stats->stacks);
	mw_buf_str(b, "<a class=\"help\" title=\"The words and the keys\" aria-label=\"Help\" href=\"");
	mw_html_text(b, one ? req->base : mount);
	mw_buf_fmt(b, "/help\"%s>?</a>", is_here(req, "/help") ? " aria-current=\"page\"" : "");
	mw_buf_free(&own);
}

void mw_html_css(struct mw_buf *b, const struct mw_call *call)
{
	asset_url(b, call, "mwrap.css");
}

static void css(struct mw_buf *b, void *ctx)
{
	mw_html_css(b, ctx);
}

/* The logout button, if the request came with a session. */
static void logout(struct mw_buf *b, void *ctx)
{
	const struct mw_call *call = ctx;

	if (!call->session)
		return;
	mw_html_text_in(b, "<form class=\"logout\" action=\"", call->req->base,
			"/logout\" method=\"post\"><button>Log out</button></form>\n");
}

static void style_link(struct mw_buf *b, const struct mw_call *call, const char *name)
{
	mw_buf_str(b, "<link rel=\"stylesheet\" href=\"");
	asset_url(b, call, name);
	mw_buf_str(b, "\">\n");
}

/* The style that one page alone has. */
static void style(struct mw_buf *b, void *ctx)
{
	const struct mw_call *call = ctx;

	if (is_here(call->req, "/map"))
		style_link(b, call, "memory.css");
}

static void script(struct mw_buf *b, void *ctx)
{
	struct mw_call *call = ctx;

	if (!call->script || !mw_asset("dist/mwrap.js"))
		return;
	call->res->script = true;
	if (mw_asset("dist/uplot.css"))
		style_link(b, call, "dist/uplot.css");
	mw_buf_str(b, "<script type=\"module\" src=\"");
	asset_url(b, call, "dist/mwrap.js");
	mw_buf_str(b, "\"></script>\n");
}

/* Tells the script the name of this page, what lifespans are, and the path of the family's pages. */
static void about(struct mw_buf *b, void *ctx)
{
	struct mw_call *call = ctx;

	if (call->script)
		mw_buf_fmt(b, " data-page=\"%s\"", call->script);
	if (call->script && mw_life_in_bytes(call))
		mw_buf_str(b, " data-life=\"bytes\"");
	if (!call->req->mount)
		return;
	mw_html_text_in(b, " data-mount=\"", call->req->mount, "\"");
}

void mw_reply_page(struct mw_call *call, const char *title, void (*fill)(struct mw_buf *, void *), void *ctx)
{
	struct whose whose = { .call = call, .stats = mw_call_stats(call) };
	const struct mw_slot slots[] = {
		{ .name = "title", .text = title },
		{ .name = "base", .text = call->req->base },
		{ .name = "version", .text = MWRAP_VERSION },
		{ .name = "nav", .fill = nav, .ctx = &whose },
		{ .name = "about", .fill = about, .ctx = call },
		{ .name = "css", .fill = css, .ctx = call },
		{ .name = "style", .fill = style, .ctx = call },
		{ .name = "script", .fill = script, .ctx = call },
		{ .name = "logout", .fill = logout, .ctx = call },
		{ .name = "process", .fill = process, .ctx = &whose },
		{ .name = "state", .fill = state, .ctx = &whose },
		{ .name = "main", .fill = fill, .ctx = ctx },
	};

	mw_reply_form(call, MW_FORM_HTML);
	mw_template(&call->res->body, "layout.html", slots, sizeof(slots) / sizeof(slots[0]));
}

/* --- help ---------------------------------------------------------------------- */

static void help(struct mw_buf *b, void *unused)
{
	(void)unused;
	mw_template(b, "help.html", NULL, 0);
}

void mw_page_help(struct mw_call *call)
{
	mw_reply_page(call, "help", help, NULL);
}

/* --- 404 ----------------------------------------------------------------------- */

struct missing {
	const struct mw_call *call;
	const char *why;
};

static void missing(struct mw_buf *b, void *ctx)
{
	const struct missing *m = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = m->call->req->base },
		{ .name = "why", .text = m->why },
	};

	mw_template(b, "missing.html", slots, sizeof(slots) / sizeof(slots[0]));
}

void mw_missing_page(struct mw_call *call)
{
	struct mw_response *res = call->res;
	struct mw_buf why = res->body;
	const char *accept = mw_header(call->req, "Accept");
	struct missing m = { .call = call };
	bool get = !strcmp(call->req->method, "GET") || !strcmp(call->req->method, "HEAD");

	if (res->status != 404 || !accept || !strstr(accept, "text/html") || res->asset || !why.n ||
	    !get || strncmp(res->content_type, "text/plain", 10) != 0)
		return;
	why.p[why.n - 1] = '\0'; /* mw_reply() ended it with a newline */
	m.why = why.p;
	res->body = (struct mw_buf){ 0 };
	mw_reply_page(call, "not found", missing, &m);
	res->status = 404;
	mw_buf_free(&why);
}
