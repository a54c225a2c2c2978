/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - GET /family: the list of processes, in every form. See family.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gather.h"

/* One process of the list. */
struct line {
	const struct mw_reply_of *v;
	struct mw_process_facts facts;
};

struct view {
	struct mw_call *call;
	struct line *lines;
	size_t n;
};

/* The one list of columns, for all forms. An unknown number is empty, in JSON null. */
enum type { PID, NUMBER, SECONDS, TEXT, FLAG };
struct value {
	bool known;
	uint64_t u;
	double seconds;
	const char *s;
};

static void get_pid(const struct line *l, struct value *v)
{
	v->known = l->v->pid > 0;
	v->u = (uint64_t)l->v->pid;
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
	v->known = l->facts.rss > 0;
	v->u = l->facts.rss;
}

static void get_live_bytes(const struct line *l, struct value *v)
{
	v->known = !l->v->error;
	v->u = l->v->wire.stats.live_bytes;
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
	{ "rss_bytes", "RSS", "Resident memory in bytes, what it shares with others included.", NUMBER, get_rss },
	{ "live_bytes", "Live bytes", "Bytes allocated and not freed yet, inherited ones included.",
	  NUMBER, get_live_bytes },
	{ "forked_from", "Forked from", "The process it was forked from; empty if it was started by exec.",
	  PID, get_forked_from },
	{ "ruby", "Ruby", "Whether Ruby runs in it.", FLAG, get_ruby },
	{ "owner", "Owner", "Whether it listens on the family's path.", FLAG, get_owner },
};
/* clang-format on */
#define COLUMNS_N (sizeof(columns) / sizeof(columns[0]))

static void put(struct mw_buf *b, const struct line *l, size_t column, enum mw_form form)
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
		mw_buf_u64(b, v.u);
		break;
	case NUMBER:
		if (form == MW_FORM_HTML)
			mw_buf_commas(b, v.u);
		else
			mw_buf_u64(b, v.u);
		break;
	case SECONDS:
		if (form == MW_FORM_HTML)
			mw_buf_commas(b, (uint64_t)v.seconds);
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
			put(b, &v->lines[i], c, form);
		}
		mw_buf_str(b, end);
	}
}

static void json(struct mw_buf *b, const struct view *v)
{
	mw_buf_fmt(b, "{\"self\":%ld,\"processes\":[", (long)getpid());
	for (size_t i = 0; i < v->n; i++) {
		mw_buf_str(b, i ? ",\n{" : "\n{");
		for (size_t c = 0; c < COLUMNS_N; c++) {
			mw_buf_fmt(b, "%s\"%s\":", c ? "," : "", columns[c].name);
			put(b, &v->lines[i], c, MW_FORM_JSON);
		}
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "\n]}\n");
}

/* --- the page ------------------------------------------------------------------------ */

static bool is_text(size_t column)
{
	return columns[column].type == TEXT || columns[column].type == FLAG;
}

static void head(struct mw_buf *b, void *unused)
{
	(void)unused;
	for (size_t c = 0; c < COLUMNS_N; c++) {
		mw_buf_fmt(b, "<th scope=\"col\"%s title=\"", is_text(c) ? "" : " class=\"num\"");
		mw_html_text(b, columns[c].about);
		mw_buf_str(b, "\">");
		mw_html_text(b, columns[c].title);
		mw_buf_str(b, "</th>\n");
	}
}

static void rows(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;

	for (size_t i = 0; i < v->n; i++) {
		const struct line *l = &v->lines[i];

		mw_buf_str(b, l->v->error ? "<tr class=\"silent\">" : "<tr>");
		for (size_t c = 0; c < COLUMNS_N; c++) {
			mw_buf_str(b, is_text(c) ? "<td>" : "<td class=\"num\">");
			if (!c && !l->v->error) {
				mw_buf_str(b, "<a href=\"");
				mw_html_text(b, v->call->req->base);
				mw_buf_fmt(b, "/%ld/\">", l->v->pid);
			}
			put(b, l, c, MW_FORM_HTML);
			mw_buf_str(b, !c && !l->v->error ? "</a></td>" : "</td>");
		}
		mw_buf_str(b, "</tr>\n");
	}
}

static void page(struct mw_buf *b, void *ctx)
{
	const struct view *v = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = v->call->req->base },
		{ .name = "head", .fill = head, .ctx = ctx },
		{ .name = "rows", .fill = rows, .ctx = ctx },
	};

	mw_template(b, "family.html", slots, sizeof(slots) / sizeof(slots[0]));
}

void mw_page_family(struct mw_call *call, const struct mw_family *f, enum mw_form form)
{
	struct view v = { .call = call };
	struct mw_gathered g;

	if (mw_gather(&g, f, call->api, MW_WIRE_SELF, "")) {
		call->res->body.failed = true;
		return;
	}
	v.n = g.n;
	v.lines = calloc(g.n, sizeof(*v.lines));
	for (size_t i = 0; v.lines && i < g.n; i++) {
		v.lines[i].v = &g.replies[i];
		if (g.replies[i].pid > 0)
			mw_process_facts(g.replies[i].pid, &v.lines[i].facts);
	}
	mw_reply_form(call, form);
	if (!v.lines)
		call->res->body.failed = true;
	else if (form == MW_FORM_HTML)
		mw_reply_page(call, "processes", page, &v);
	else if (form == MW_FORM_JSON)
		json(&call->res->body, &v);
	else
		table(&call->res->body, &v, form);
	free(v.lines);
	mw_gathered_free(&g);
}
