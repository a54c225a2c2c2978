/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.c - the callers of locations: /flame and /flame.json, and the profiles for other programs'
 * viewers: /debug/pprof/heap and /allocs, /stacks.collapsed, /stacks.speedscope.json.
 */
#include <string.h>

#include "shared/report/profile.h"
#include "server/report/profile_shown.h"
#include "shared/report/sums.h"
#include "flame_range.h"
#include "pages.h"

enum {
	NODES = 20000,     /* of a tree, by default */
	NODES_MAX = 200000,
	NODES_PLAIN = 300  /* on the page without scripts */
};

struct query {
	struct mw_profile_view view;
	enum mw_profile_by by; /* for other viewers to show first */
	bool raw;              /* as estimated, not calibrated */
	const char *location;  /* as asked for; NULL: all */
	size_t location_n;
	const char *label;     /* NULL: all */
	struct mw_flame_range range;
	struct mw_profile_shown shown;
};

struct shown {
	struct mw_call *call;
	const struct query *q;
	const struct mw_profile *p;
};

typedef void filler(struct mw_buf *, const struct shown *);
static filler pprof, collapsed, speedscope, tree, whole_page;

static const struct form {
	const char *route;
	const char *type; /* Content-Type */
	filler *fill;
	enum mw_profile_by by; /* shown first, unless the query names another */
	bool grows;            /* growth is one of its figures */
	enum mw_frames_shown frames; /* unless the query says which */
	const char *name;      /* of the link to it on the page; NULL: none */
} forms[] = {
	{ "/flame", "text/html; charset=utf-8", whole_page, MW_BY_LIVE, true, MW_FRAMES_FOLDED, NULL },
	{ "/flame.json", "application/json; charset=utf-8", tree, MW_BY_LIVE, true, MW_FRAMES_FOLDED, NULL },
	{ "/debug/pprof/heap", "application/octet-stream", pprof, MW_BY_LIVE, false, MW_FRAMES_ALL,
	  "pprof" },
	{ "/debug/pprof/allocs", "application/octet-stream", pprof, MW_BY_TOTAL, false, MW_FRAMES_ALL,
	  NULL },
	{ "/stacks.collapsed", "text/plain; charset=utf-8", collapsed, MW_BY_LIVE, false,
	  MW_FRAMES_FOLDED, "collapsed" },
	{ "/stacks.speedscope.json", "application/json; charset=utf-8", speedscope, MW_BY_LIVE, false,
	  MW_FRAMES_FOLDED, "speedscope" },
};
#define FORMS (sizeof(forms) / sizeof(*forms))

static bool param_is(const struct mw_params *p, enum mw_param name, const char *value)
{
	return p->v[name].s && !strcmp(p->v[name].s, value);
}

/* frames=folded|ruby|all and startup=hide. 0, or a status with a reason. */
static int understand_shown(const struct mw_params *p, struct mw_profile_shown *shown, struct mw_buf *why)
{
	static const char *const names[] = {
		[MW_FRAMES_FOLDED] = "folded", [MW_FRAMES_RUBY] = "ruby", [MW_FRAMES_ALL] = "all"
	};

	unsigned frames = p->v[MW_PARAM_FRAMES].n ? 0 : shown->frames;

	while (p->v[MW_PARAM_FRAMES].n && frames <= MW_FRAMES_ALL &&
	       !param_is(p, MW_PARAM_FRAMES, names[frames]))
		frames++;
	if (frames > MW_FRAMES_ALL) {
		mw_buf_str(why, "frames: folded, ruby or all");
		return 400;
	}
	shown->frames = (enum mw_frames_shown)frames;
	shown->no_startup = param_is(p, MW_PARAM_STARTUP, "hide");
	if (p->v[MW_PARAM_STARTUP].n && !shown->no_startup && !param_is(p, MW_PARAM_STARTUP, "show")) {
		mw_buf_str(why, "startup: show or hide");
		return 400;
	}
	return 0;
}

/* 0, or a status with a reason. */
static int understand(const struct mw_params *p, const struct form *form, struct query *q,
		      struct mw_buf *why)
{
	static const struct {
		const char *name;
		enum mw_profile_figure view;
		enum mw_profile_by by;
	} views[] = { { "live", MW_VIEW_LIVE, MW_BY_LIVE },
		      { "total", MW_VIEW_TOTAL, MW_BY_TOTAL },
		      { "objects", MW_VIEW_OBJECTS, MW_BY_OBJECTS },
		      { "growth", MW_VIEW_GROWTH, MW_BY_LIVE } };
	uint64_t most = q->view.most, none = 0;
	int bad = mw_params_slice(p, &most, &none, why);
	size_t by = 0;

	while (!bad && p->v[MW_PARAM_BY].s && by < 4 && !param_is(p, MW_PARAM_BY, views[by].name))
		by++;
	if (!bad && (by == 4 || (by == 3 && !form->grows))) {
		mw_buf_str(why, form->grows ? "by: live, total, objects or growth" :
					      "by: live, total or objects: only /flame has growth");
		bad = 400;
	}
	if (bad)
		return bad;
	if (p->v[MW_PARAM_BY].s) {
		q->view.by = views[by].view;
		q->by = views[by].by;
	}
	q->view.most = most && most < NODES_MAX ? (size_t)most : NODES_MAX;
	q->view.inverted = param_is(p, MW_PARAM_INVERT, "1");
	q->raw = param_is(p, MW_PARAM_RAW, "1");
	q->location = p->v[MW_PARAM_LOCATION].n ? p->v[MW_PARAM_LOCATION].s : NULL;
	q->location_n = p->v[MW_PARAM_LOCATION].n;
	q->label = p->v[MW_PARAM_LABEL].n ? p->v[MW_PARAM_LABEL].s : NULL;
	q->shown.frames = form->frames;
	return understand_shown(p, &q->shown, why);
}

/* The same of a profile that is made: its row, and its label. */
static int choose_in_profile(struct mw_profile *p, struct query *q, struct mw_buf *why)
{
	const struct mw_row *row;
	int found;

	q->view.row = MW_ROW_ALL;
	if (q->location) {
		found = mw_location_look(p->snapshot, q->location, q->location_n, &row);
		if (found) {
			mw_buf_str(why,
				   found > 1 ? "location: several have that short id: give the whole text" :
					       "location: no such location");
			return 404;
		}
		q->view.row = (uint32_t)(row - p->snapshot->rows);
	}
	if (q->label && !mw_profile_only_label(p, q->label)) {
		mw_buf_str(why, "label: no stack has it: /labels lists those that have bytes");
		return 404;
	}
	return 0;
}

/* 0, or a status with a reason: the profile is made, and what the query asks for found in it. */
static int make_asked_profile(const struct mw_call *call, struct mw_profile *p, struct query *q,
			      struct mw_buf *why)
{
	struct mw_profile_how how = { .raw = q->raw };
	int bad = 0;

	if (q->view.by == MW_VIEW_GROWTH)
		bad = mw_flame_range_make(&q->range, call, &call->params, &how, why);
	if (bad)
		return bad;
	if (!mw_profile_make(p, call->api, &how))
		return 500;
	bad = choose_in_profile(p, q, why);
	q->shown.row = q->view.row;
	if (!bad && !mw_profile_show(p, &q->shown))
		bad = 500;
	if (bad)
		mw_profile_free(p, call->api);
	return bad;
}

/* Answers with the form, or with the reason why not. */
static void reply_stacks(struct mw_call *call, const struct form *form)
{
	struct query q = { .view = { .most = NODES }, .by = form->by };
	struct mw_profile p;
	struct shown shown = { call, &q, &p };
	int bad = understand(&call->params, form, &q, &call->why);

	if (!bad)
		bad = make_asked_profile(call, &p, &q, &call->why);
	if (!mw_refused(call, bad)) {
		mw_flame_range_made(&q.range, &p, q.view.row);
		call->res->status = 200;
		call->res->content_type = form->type;
		form->fill(&call->res->body, &shown);
		mw_profile_free(&p, call->api);
	}
	mw_flame_range_free(&q.range);
}

void mw_page_stacks(struct mw_call *call)
{
	size_t i = 0;

	/* routes.c has a route for each */
	while (i < FORMS - 1 && strcmp(forms[i].route, call->req->path) != 0)
		i++;
	reply_stacks(call, &forms[i]);
}

static void pprof(struct mw_buf *b, const struct shown *s)
{
	s->call->res->gzip_file = true;
	mw_profile_pprof(b, s->p, s->q->by);
}

static void collapsed(struct mw_buf *b, const struct shown *s)
{
	mw_profile_collapsed(b, s->p, s->q->by);
}

static void speedscope(struct mw_buf *b, const struct shown *s)
{
	mw_profile_speedscope(b, s->p, "mwrap");
}

/* Of the figure that is shown, what startup=hide left out */
static int64_t hidden_bytes(const struct query *q)
{
	return q->view.by == MW_VIEW_GROWTH ? q->shown.growth : mw_i64_of(q->shown.bytes[q->by]);
}

static void tree(struct mw_buf *b, const struct shown *s)
{
	const struct mw_site *site = s->call->req->site;

	mw_json_head(b, site, site ? mw_site_uptime(site) : 0, "now", "unix");
	mw_flame_range_json(b, &s->q->range);
	if (s->q->shown.no_startup)
		mw_json_i64(b, "startup", hidden_bytes(s->q));
	mw_profile_tree(b, s->p, &s->q->view);
	mw_buf_str(b, "}\n");
}

/* --- the page ------------------------------------------------------------------- */

/* A frame of the plain tree: a row, indented by its depth. */
static void plain_row(void *ctx, const struct mw_profile_node *n)
{
	struct mw_buf *b = ctx;

	if (!n->frame)
		return;
	mw_buf_str(b, "<tr><td class=\"num\">");
	mw_html_bytes(b, n->value < 0 ? 0 - (uint64_t)n->value : (uint64_t)n->value, n->value < 0);
	mw_buf_str(b, "</td>");
	mw_html_number(b, n->samples);
	mw_buf_str(b, "<td class=\"location\">");
	for (uint32_t i = 1; i < n->depth && i < 64; i++)
		mw_buf_str(b, "\xc2\xb7 ");
	mw_html_text(b, n->frame->name);
	if (*n->frame->file) {
		mw_buf_str(b, " <small>");
		mw_html_location(b, n->frame->file, strlen(n->frame->file));
		if (n->frame->line)
			mw_buf_fmt(b, ":%u", n->frame->line);
		mw_buf_str(b, "</small>");
	}
	mw_buf_str(b, "</td></tr>\n");
}

static void plain_tree(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;
	struct mw_profile_view view = s->q->view;

	view.most = NODES_PLAIN;
	mw_buf_str(b, "<table><thead><tr><th scope=\"col\" class=\"num\">bytes</th>"
		      "<th scope=\"col\" class=\"num\">samples</th><th scope=\"col\">called</th></tr></thead>\n"
		      "<tbody>\n");
	mw_profile_tree_each(s->p, &view, plain_row, b);
	mw_buf_str(b, "</tbody></table>\n");
}

static void flame_summary(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;
	uint64_t n = s->p->samples[s->q->by];
	int64_t hidden;

	if (s->q->label)
		mw_html_text_in(b, "Only what was allocated for <b>", s->q->label, "</b>. ");
	if (s->q->range.is) {
		mw_flame_range_html(b, &s->q->range, s->call, &s->call->params);
		mw_buf_str(b, ". ");
	}
	if (s->q->shown.no_startup) {
		mw_buf_str(b, "Start-up isn\xe2\x80\x99t shown: ");
		hidden = hidden_bytes(s->q);
		mw_html_bytes(b, hidden < 0 ? 0 - (uint64_t)hidden : (uint64_t)hidden, hidden < 0);
		mw_buf_str(b, ". ");
	}
	if (s->q->by == MW_BY_OBJECTS) {
		mw_buf_str(b, "Ruby\xe2\x80\x99s objects that stay, by the lines that made them, and who called these: "
			      "the bytes of their slots, estimated from ");
		mw_buf_commas(b, n);
		mw_buf_str(b, n == 1 ? " sample." : " samples.");
		return;
	}
	if (!s->p->rate && !n) {
		mw_buf_str(b,
			   "No stacks are kept: the option stacks is off. Each location stands for itself.");
		return;
	}
	if (s->q->range.is)
		return;
	mw_buf_str(b, "Each line\xe2\x80\x99s bytes are exact. Their callers are estimated from ");
	mw_buf_commas(b, n);
	mw_buf_str(b, n == 1 ? " sample." : " samples.");
}

static void option(struct mw_buf *b, const char *value, const char *text, bool chosen)
{
	mw_buf_fmt(b, "<option value=\"%s\"%s>%s</option>", value, chosen ? " selected" : "", text);
}

static void by_options(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;

	option(b, "live", "live now", s->q->view.by == MW_VIEW_LIVE);
	option(b, "total", "allocated in all", s->q->view.by == MW_VIEW_TOTAL);
	option(b, "objects", "Ruby\xe2\x80\x99s objects that stay", s->q->view.by == MW_VIEW_OBJECTS);
	option(b, "growth", s->q->range.is ? "growth in that time" : "growth",
	       s->q->view.by == MW_VIEW_GROWTH);
}

static void hidden(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;

	mw_flame_range_fields(b, &s->call->params);
	if (s->q->label)
		mw_html_text_in(b, "<input type=\"hidden\" name=\"label\" value=\"", s->q->label, "\">\n");
}

static void invert_options(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;

	option(b, "", "the program", !s->q->view.inverted);
	option(b, "1", "the lines that allocate", s->q->view.inverted);
}

static void frames_options(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;

	option(b, "", "unnamed ones of a library as one", s->q->shown.frames == MW_FRAMES_FOLDED);
	option(b, "ruby", "of Ruby only", s->q->shown.frames == MW_FRAMES_RUBY);
	option(b, "all", "all", s->q->shown.frames == MW_FRAMES_ALL);
}

static void startup_options(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;

	option(b, "", "shown", !s->q->shown.no_startup);
	option(b, "hide", "hidden", s->q->shown.no_startup);
}

/* The query of an export that shows the same, but for growth and for one location. */
static void export_query(struct mw_buf *b, const struct mw_params *p)
{
	static const struct {
		enum mw_param param;
		const char *name;
	} kept[] = { { MW_PARAM_BY, "by" },
		     { MW_PARAM_LABEL, "label" },
		     { MW_PARAM_FRAMES, "frames" },
		     { MW_PARAM_STARTUP, "startup" } };
	const char *between = "?";

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		if (!p->v[kept[i].param].n || param_is(p, kept[i].param, "growth"))
			continue;
		mw_buf_str(b, between);
		mw_buf_str(b, kept[i].name);
		mw_buf_str(b, "=");
		mw_percent_encode(b, p->v[kept[i].param].s, p->v[kept[i].param].n);
		between = "&amp;";
	}
}

static void flame_exports(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;

	for (const struct form *form = forms; form < forms + FORMS; form++) {
		if (!form->name)
			continue;
		mw_buf_str(b, "<a href=\"");
		mw_html_text(b, s->call->req->base);
		mw_buf_str(b, form->route);
		export_query(b, &s->call->params);
		mw_buf_fmt(b, "\">%s</a> ", form->name);
	}
}

static void flame_graph_page(struct mw_buf *b, void *ctx)
{
	const struct shown *s = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = s->call->req->base },
		{ .name = "summary", .fill = flame_summary, .ctx = ctx },
		{ .name = "hidden", .fill = hidden, .ctx = ctx },
		{ .name = "by", .fill = by_options, .ctx = ctx },
		{ .name = "invert", .fill = invert_options, .ctx = ctx },
		{ .name = "frames", .fill = frames_options, .ctx = ctx },
		{ .name = "startup", .fill = startup_options, .ctx = ctx },
		{ .name = "location", .text = s->q->location ? s->q->location : "" },
		{ .name = "tree", .fill = plain_tree, .ctx = ctx },
		{ .name = "exports", .fill = flame_exports, .ctx = ctx },
	};

	mw_template(b, "flame.html", slots, sizeof(slots) / sizeof(slots[0]));
}

static void whole_page(struct mw_buf *unused, const struct shown *s)
{
	(void)unused;
	s->call->script = "flame";
	mw_reply_page(s->call, "flame graph", flame_graph_page, (void *)(uintptr_t)s);
}
