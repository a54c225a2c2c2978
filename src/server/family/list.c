/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - GET /family: the list of processes, in every form. See family.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/history/history.h"
#include "compare.h"
#include "gather.h"
#include "shared/text/json.h"

/* One process of the list. */
struct line {
	const struct mw_reply_of *v;
	struct mw_process_facts facts;
	struct mw_sibling among;
};

struct view {
	struct mw_call *call;
	struct line *lines;
	size_t n;
	struct mw_buf said; /* of all */
	const struct mw_reply_of *fastest; /* NULL: none grows */
};

/* The one list of columns, for all forms. An unknown number is empty, in JSON null. */
enum type { PID, BYTES, RATE, SECONDS, TEXT, FLAG };
struct value {
	bool known;
	uint64_t u;
	uint64_t ns; /* PID */
	int64_t i; /* RATE: bytes a minute */
	double seconds;
	const char *s;
};

static void get_pid(const struct line *l, struct value *v)
{
	v->known = l->v->pid > 0;
	v->u = (uint64_t)l->v->pid;
	v->ns = l->v->shown;
}

static void get_title(const struct line *l, struct value *v)
{
	v->s = l->facts.title;
}

static void get_age(const struct line *l, struct value *v)
{
	v->known = l->facts.age > 0;
	v->seconds = l->facts.age;
}

static void get_rss(const struct line *l, struct value *v)
{
	v->known = l->among.rss_known;
	v->u = (uint64_t)l->among.rss;
}

static void get_slope(const struct line *l, struct value *v)
{
	v->known = l->among.slope_known;
	v->i = (int64_t)l->among.slope;
}

static void get_outlier(const struct line *l, struct value *v)
{
	v->s = l->among.rss_out && l->among.slope_out ? "RSS and slope" :
	       l->among.rss_out                       ? "RSS" :
	       l->among.slope_out                     ? "slope" :
							"";
}

static void get_kind(const struct line *l, struct value *v)
{
	v->s = l->v->wire.self.kind;
}

static void get_rate(const struct line *l, struct value *v)
{
	v->known = l->v->wire.self.kind[0] != '\0';
	v->i = l->v->wire.self.rate;
}

static void get_sentence(const struct line *l, struct value *v)
{
	v->s = l->v->wire.self.sentence ? l->v->wire.self.sentence : "";
}

static void get_live_bytes(const struct line *l, struct value *v)
{
	v->known = !l->v->error;
	v->u = l->v->wire.stats.live_bytes;
}

static void get_live_error(const struct line *l, struct value *v)
{
	v->known = !l->v->error;
	v->u = l->v->wire.stats.live_error;
}

static void get_ruby(const struct line *l, struct value *v)
{
	v->known = !l->v->error;
	v->u = l->v->wire.ruby;
}

static void get_owner(const struct line *l, struct value *v)
{
	v->known = true;
	v->u = l->v->owner;
}

static void get_forked_from(const struct line *l, struct value *v)
{
	v->known = !l->v->error && l->v->wire.stats.forker > 0;
	v->u = (uint64_t)l->v->wire.stats.forker;
}

static void get_state(const struct line *l, struct value *v)
{
	v->s = !l->v->error          ? "answers" :
	       l->v->error == EPROTO ? "has another version of mwrap" :
	       l->v->error == EACCES ? "may not be asked" :
				       "does not answer";
}

/* clang-format off */
static const struct {
	const char *name, *title, *about;
	enum type type;
	void (*get)(const struct line *, struct value *);
} columns[] = {
	{ "pid", "PID", "The process.", PID, get_pid },
	{ "title", "Title", "Its command line, or what it calls itself.", TEXT, get_title },
	{ "state", "State", "Whether it answered in time.", TEXT, get_state },
	{ "age", "Age", "Seconds since it was started or forked.", SECONDS, get_age },
	{ "rss_bytes", "RSS", "Resident memory, what it shares with others included.", BYTES, get_rss },
	{ "live_bytes", "Live bytes", "Bytes allocated and not freed yet, inherited ones included.",
	  BYTES, get_live_bytes },
	{ "live_error", "Live error", "Bytes by which they may be off, in 19 of 20 cases; 0 if every block was counted.",
	  BYTES, get_live_error },
	{ "slope_bytes_per_minute", "Slope", "How fast live bytes grow, a minute, over the last 15 minutes at most.",
	  RATE, get_slope },
	{ "outlier", "Stands out", "By what it is well above the other processes with the same parent.",
	  TEXT, get_outlier },
	{ "kind", "Kind", "The kind of the process's sentence.", TEXT, get_kind },
	{ "rate_bytes_per_minute", "Rate", "The rate that belongs to it, in bytes a minute.", RATE, get_rate },
	{ "sentence", "It says", "The process's sentence about its memory.", TEXT, get_sentence },
	{ "forked_from", "Forked from", "The process it was forked from; empty if it was started by exec.",
	  PID, get_forked_from },
	{ "ruby", "Ruby", "Whether Ruby runs in it.", FLAG, get_ruby },
	{ "owner", "Owner", "Whether it listens on the family's path.", FLAG, get_owner },
};
/* clang-format on */
#define COLUMNS_N (sizeof(columns) / sizeof(columns[0]))

static void put_column_value(struct mw_buf *b, const struct line *l, size_t column, enum mw_form form)
{
	struct value v = { .known = columns[column].type == TEXT };
	bool json = form == MW_FORM_JSON;

	columns[column].get(l, &v);
	if (!v.known) {
		mw_buf_str(b, json ? "null" : "");
		return;
	}
	switch (columns[column].type) {
	case PID:
		mw_put_process(b, (long)v.u, v.ns, json);
		break;
	case BYTES:
		if (form == MW_FORM_HTML && columns[column].get == get_live_bytes &&
		    l->v->wire.stats.live_error)
			mw_buf_str(b, "\xe2\x89\x88 ");
		if (form == MW_FORM_HTML)
			mw_html_bytes(b, v.u, false);
		else
			mw_buf_u64(b, v.u);
		break;
	case RATE:
		if (form == MW_FORM_HTML)
			mw_html_bytes(b, v.i < 0 ? 0 - (uint64_t)v.i : (uint64_t)v.i, v.i < 0);
		else
			mw_buf_i64(b, v.i);
		break;
	case SECONDS:
		if (form == MW_FORM_HTML)
			mw_html_duration(b, v.seconds);
		else
			mw_buf_seconds(b, v.seconds);
		break;
	case FLAG:
		mw_buf_str(b, json ? (v.u ? "true" : "false") : v.u ? "yes" : "no");
		break;
	case TEXT:
		(json                 ? mw_buf_json :
		 form == MW_FORM_HTML ? mw_buf_html :
		 form == MW_FORM_CSV  ? mw_buf_csv :
					mw_buf_tsv)(b, v.s, strlen(v.s));
	}
}

static void table(struct mw_buf *b, const struct view *v, enum mw_form form)
{
	const char *between = form == MW_FORM_CSV ? "," : "\t", *end = form == MW_FORM_CSV ? "\r\n" : "\n";

	for (size_t c = 0; c < COLUMNS_N; c++) {
		mw_buf_str(b, c ? between : "");
		mw_buf_str(b, columns[c].name);
	}
	mw_buf_str(b, end);
	for (size_t i = 0; i < v->n; i++) {
		for (size_t c = 0; c < COLUMNS_N; c++) {
			mw_buf_str(b, c ? between : "");
			put_column_value(b, &v->lines[i], c, form);
		}
		mw_buf_str(b, end);
	}
}

/* The last 15 minutes: {"t":[seconds of uptime],"rss":[bytes],"live":[bytes]} */
static void json_curve(struct mw_buf *b, const struct mw_self *s)
{
	static const char *const names[] = { "t", "rss", "live" };

	mw_json_open(b, "curve", '{');
	for (int k = 0; k < 3; k++) {
		mw_json_open(b, names[k], '[');
		for (size_t i = 0; i < s->n; i++) {
			uint32_t kib = k == 1 ? s->v[i].rss : s->v[i].live;

			if (k == 0)
				mw_json_u64(b, NULL, s->v[i].t);
			else
				mw_json_known(b, NULL, (uint64_t)kib * 1024, kib != MW_KIB_UNKNOWN);
		}
		mw_buf_str(b, "]");
	}
	mw_buf_str(b, "}");
}

static void processes_json(struct mw_buf *b, const struct view *v)
{
	mw_buf_str(b, "{");
	mw_json_i64(b, "self", getpid());
	mw_json_key(b, "\nsentence");
	mw_buf_json(b, v->said.p, v->said.n);
	mw_json_key(b, "\ngrowing");
	if (v->fastest)
		mw_put_process(b, v->fastest->pid, v->fastest->shown, true);
	else
		mw_buf_str(b, "null");
	mw_json_open(b, "processes", '[');
	for (size_t i = 0; i < v->n; i++) {
		mw_json_open(b, "\n", '{');
		for (size_t c = 0; c < COLUMNS_N; c++) {
			mw_json_key(b, columns[c].name);
			put_column_value(b, &v->lines[i], c, MW_FORM_JSON);
		}
		json_curve(b, &v->lines[i].v->wire.self);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "\n]}\n");
}

/*
 * Has the page this column? The sentence says what the verdict's other columns have. A sign before the live bytes
 * says that they are an estimate.
 */
static bool on_page(const struct view *v, size_t column)
{
	void (*get)(const struct line *, struct value *) = columns[column].get;

	if (get == get_kind || get == get_rate || get == get_live_error)
		return false;
	if (get != get_sentence && get != get_outlier)
		return true;
	for (size_t i = 0; i < v->n; i++) {
		struct value text = { 0 };

		get(&v->lines[i], &text);
		if (*text.s)
			return true;
	}
	return false;
}

/* --- the page ------------------------------------------------------------------------ */

static bool is_text(size_t column)
{
	return columns[column].type == TEXT || columns[column].type == FLAG;
}

static void processes_head(struct mw_buf *b, void *ctx)
{
	for (size_t c = 0; c < COLUMNS_N; c++) {
		if (!on_page(ctx, c))
			continue;
		mw_buf_fmt(b, "<th scope=\"col\"%s title=\"", is_text(c) ? "" : " class=\"num\"");
		mw_html_text(b, columns[c].about);
		mw_html_text_in(b, "\">", columns[c].title, "</th>\n");
	}
}

static void process_rows(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (size_t i = 0; i < v->n; i++) {
		const struct line *l = &v->lines[i];

		mw_buf_str(b, l->v->error                            ? "<tr class=\"silent\">" :
			      l->among.rss_out || l->among.slope_out ? "<tr class=\"out\">" :
								       "<tr>");
		for (size_t c = 0; c < COLUMNS_N; c++) {
			if (!on_page(v, c))
				continue;
			mw_buf_str(b, is_text(c) ? "<td>" : "<td class=\"num\">");
			if (!c && !l->v->error) {
				mw_html_text_in(b, "<a href=\"", v->call->req->base, "/");
				mw_put_process(b, l->v->pid, l->v->shown, false);
				mw_buf_str(b, "/\">");
			}
			put_column_value(b, l, c, MW_FORM_HTML);
			mw_buf_str(b, !c && !l->v->error ? "</a></td>" : "</td>");
		}
		mw_buf_str(b, "</tr>\n");
	}
}

static void said(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	mw_buf_html(b, v->said.p, v->said.n);
}

/* A click leads to the process that grows. */
static void fastest_link(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	if (!v->fastest)
		return;
	mw_html_text_in(b, "<p class=\"next\"><a href=\"", v->call->req->mount, "/");
	mw_put_process(b, v->fastest->pid, v->fastest->shown, false);
	mw_buf_str(b, "/\">The page of process ");
	mw_put_process(b, v->fastest->pid, v->fastest->shown, false);
	mw_buf_str(b, "</a></p>\n");
}

static void processes_page(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->call->req->base },
		{ .name = "said", .fill = said, .ctx = ctx },
		{ .name = "step", .fill = fastest_link, .ctx = ctx },
		{ .name = "head", .fill = processes_head, .ctx = ctx },
		{ .name = "rows", .fill = process_rows, .ctx = ctx },
	};

	mw_template(b, "family.html", slots, sizeof(slots) / sizeof(slots[0]));
}

static void family_page(struct mw_call *call, struct view *v)
{
	call->script = "family";
	mw_reply_page(call, "processes", processes_page, v);
}

/* The facts of a line; RSS by /proc, or as the process itself says where that isn't ours to read. */
static void set_line(struct line *l, const struct mw_reply_of *v)
{
	l->v = v;
	mw_reply_facts(v, &l->facts);
	l->among.forker = v->error ? 0 : v->wire.stats.forker;
	l->among.rss = (double)(l->facts.rss ? l->facts.rss : v->wire.self.rss);
	l->among.rss_known = l->among.rss > 0;
	l->among.live = (double)v->wire.stats.live_bytes;
	l->among.slope_known = mw_self_slope(&v->wire.self, &l->among.slope);
}

static void compare_processes(struct view *v)
{
	struct mw_sibling *p = calloc(v->n + 1, sizeof(*p));

	for (size_t i = 0; p && i < v->n; i++)
		p[i] = v->lines[i].among;
	if (p && !mw_find_outliers(p, v->n))
		for (size_t i = 0; i < v->n; i++)
			v->lines[i].among = p[i];
	free(p);
}

/* "/" of a process alone: its own page, from the thread that has its history. */
static void to_own(struct mw_call *call)
{
	struct mw_buf *to = &call->res->location;

	mw_reply(call, 302, "moved: this process has no relatives");
	mw_buf_str(to, call->req->base);
	mw_buf_fmt(to, "/%ld/", (long)getpid());
	mw_buf_add(to, "", 1);
}

void mw_page_family(struct mw_call *call, const struct mw_family *f, enum mw_form form)
{
	struct view v = { .call = call };
	struct mw_gathered g;

	if (mw_gather(&g, f, call->api, MW_WIRE_SELF, "")) {
		call->res->body.failed = true;
		return;
	}
	if (g.n < 2 && !strcmp(call->req->path, "/")) {
		to_own(call);
		mw_gathered_free(&g);
		return;
	}
	v.fastest = mw_overall_say(&v.said, &g);
	v.n = g.n;
	v.lines = calloc(g.n, sizeof(*v.lines));
	for (size_t i = 0; v.lines && i < g.n; i++)
		set_line(&v.lines[i], &g.replies[i]);
	if (v.lines)
		compare_processes(&v);
	mw_reply_form(call, form);
	if (!v.lines || v.said.failed)
		call->res->body.failed = true;
	else if (form == MW_FORM_HTML)
		family_page(call, &v);
	else if (form == MW_FORM_JSON)
		processes_json(&call->res->body, &v);
	else
		table(&call->res->body, &v, form);
	free(v.lines);
	mw_buf_free(&v.said);
	mw_gathered_free(&g);
}
