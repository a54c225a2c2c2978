/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks.c - GET /marks, POST /mark and POST /mark/clear. With a name these are named marks
 * (server/marks/marks.h), for /diff. Without one they are the mark from which /live counts growth.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "pages.h"

/* --- POST --------------------------------------------------------------------------------- */

/* The mark of /live. */
static int set_mark(struct mw_site *s, const struct mw_snapshot *snapshot)
{
	int rc = mw_mark_set(&s->mark, snapshot, mw_site_uptime(s));

	if (rc)
		return rc;
	mw_history_mark(&s->history, s->mark.at);
	mw_history_event(&s->history, s->mark.at, "mark", NULL);
	return 0;
}

static int add_mark(struct mw_site *s, const struct mw_snapshot *snapshot, const char *name)
{
	struct mw_stats stats = { 0 };
	struct mw_moment m;
	uint64_t rss = 0;
	int rc;

	s->api->stats(&stats);
	if (!mw_rss_bytes(s->statm, &rss))
		rss = 0;
	m = mw_moment_now(snapshot, &stats, mw_site_uptime(s), rss);
	rc = mw_marks_add(&s->marks, s->api, name, &m, snapshot);
	if (!rc)
		mw_history_event(&s->history, m.uptime, "mark", name);
	return rc;
}

/* name NULL: the mark of /live. 0; -1: no memory. */
static int mark(struct mw_site *s, const char *name)
{
	struct mw_snapshot *snapshot = s->api->snapshot();
	int rc = -1;

	if (!snapshot)
		return rc;
	atomic_fetch_add(&s->busy, 1);
	rc = name ? add_mark(s, snapshot, name) : set_mark(s, snapshot);
	atomic_fetch_sub(&s->busy, 1);
	s->api->snapshot_free(snapshot);
	return rc;
}

/* A line for programs with the name behind what is said of it. */
static void done(struct mw_call *call, const char *what, const char *name)
{
	struct mw_buf line = { 0 };

	mw_buf_str(&line, what);
	mw_buf_str(&line, name);
	mw_done_text(call, &line);
	mw_buf_free(&line);
}

static void mark_and_reply(struct mw_call *call, const char *name)
{
	struct mw_site *s = call->req->site;
	bool there = name && mw_marks_find(&s->marks, name, strlen(name));

	if (!mark(s, name)) {
		if (name)
			done(call, there ? "mark: replaced: " : "mark: set: ", name);
		else
			mw_done(call, "mark: growth is also counted from here",
				"Marked: growth since this moment is shown, too.");
		return;
	}
	mw_reply(call, 500, "mark: out of memory: clear other marks, or raise memory_max");
}

static void clear(struct mw_call *call, const char *name)
{
	struct mw_site *s = call->req->site;
	bool there = true;

	atomic_fetch_add(&s->busy, 1);
	if (name)
		there = mw_marks_remove(&s->marks, s->api, name);
	else
		mw_mark_clear(&s->mark);
	atomic_fetch_sub(&s->busy, 1);
	if (!there)
		(void)mw_refused(call, mw_no_such_mark(&call->why, "name", name, strlen(name)));
	else if (name)
		done(call, "mark: cleared: ", name);
	else
		mw_done(call, "mark: cleared", "The mark is cleared.");
}

/* Calls act with the name, or NULL if none is given. */
static void with_name(struct mw_call *call, void (*act)(struct mw_call *, const char *name))
{
	const char *name = call->params.v[MW_PARAM_NAME].s;

	if (!mw_refused(call, name ? mw_params_name(&call->params, MW_MARKS_NAME, &call->why) : 0))
		act(call, name);
}

void mw_page_mark(struct mw_call *call)
{
	with_name(call, mark_and_reply);
}

void mw_page_mark_clear(struct mw_call *call)
{
	with_name(call, clear);
}

int mw_no_such_mark(struct mw_buf *why, const char *param, const char *name, size_t n)
{
	mw_buf_str(why, param);
	mw_buf_str(why, ": no mark has the name \"");
	mw_buf_tsv(why, name, n < MW_MARKS_NAME ? n : (size_t)MW_MARKS_NAME);
	mw_buf_str(why, "\": /marks lists them");
	return 404;
}

/* --- the list -------------------------------------------------------------------------------- */

static const char *const columns[] = { "name", "time", "unix",       "uptime", "pid",
				       "gc",   "rss",  "live_bytes", "live",   "resets" };
enum { COLUMNS = sizeof(columns) / sizeof(*columns), NUMBERS = COLUMNS - 4 };

/* The last ones, from pid on. known: is that one? */
static void numbers(const struct mw_moment *m, uint64_t v[NUMBERS], bool known[NUMBERS])
{
	const uint64_t all[] = { (uint64_t)getpid(), m->generation, m->rss,
				 m->live_bytes,      m->live,       m->resets };

	memcpy(v, all, sizeof(all));
	for (int i = 0; i < NUMBERS; i++)
		known[i] = true;
	known[1] = m->has_gc;
	known[2] = m->rss;
}

static void marks_lines(struct mw_buf *b, const struct mw_marks *marks, bool csv)
{
	const char *between = csv ? "," : "\t", *end = csv ? "\r\n" : "\n";

	for (int i = 0; i < COLUMNS; i++) {
		mw_buf_str(b, i ? between : "");
		mw_buf_str(b, columns[i]);
	}
	mw_buf_str(b, end);
	for (uint32_t i = 0; i < marks->n; i++) {
		const struct mw_named_mark *m = &marks->v[i];
		uint64_t v[NUMBERS];
		bool known[NUMBERS];

		(csv ? mw_buf_csv : mw_buf_tsv)(b, m->name, strlen(m->name));
		mw_buf_str(b, between);
		mw_buf_time(b, m->moment.unix_time);
		mw_buf_str(b, between);
		mw_buf_seconds(b, m->moment.unix_time);
		mw_buf_str(b, between);
		mw_buf_seconds(b, m->moment.uptime);
		numbers(&m->moment, v, known);
		for (int k = 0; k < NUMBERS; k++) {
			mw_buf_str(b, between);
			if (known[k])
				mw_buf_u64(b, v[k]);
		}
		mw_buf_str(b, end);
	}
}

static void object(struct mw_buf *b, const struct mw_named_mark *m)
{
	uint64_t v[NUMBERS];
	bool known[NUMBERS];

	mw_json_open(b, "\n", '{');
	mw_json_str(b, "name", m->name);
	mw_json_moment(b, &m->moment);
	numbers(&m->moment, v, known);
	for (int k = 0; k < NUMBERS; k++)
		mw_json_known(b, columns[COLUMNS - NUMBERS + k], v[k], known[k]);
	mw_buf_str(b, "}");
}

static void marks_json(struct mw_buf *b, const struct mw_site *s)
{
	mw_json_head(b, s, mw_site_uptime(s), "now", "unix");
	mw_json_u64(b, "\nmax", MW_MARKS_MAX);
	mw_json_u64(b, "gone", s->marks.gone);
	mw_json_u64(b, "bytes", mw_marks_bytes(&s->marks));
	mw_json_open(b, "\nmarks", '[');
	for (uint32_t i = 0; i < s->marks.n; i++)
		object(b, &s->marks.v[i]);
	mw_buf_str(b, s->marks.n ? "\n]}\n" : "]}\n");
}

/* --- the page ---------------------------------------------------------------------------------- */

void mw_html_mark_options(struct mw_buf *b, const struct mw_marks *marks, const char *chosen, size_t n)
{
	for (uint32_t i = marks->n; i-- > 0;) {
		const char *name = marks->v[i].name;
		bool is = strlen(name) == n && !memcmp(name, chosen, n);

		mw_buf_str(b, is ? "<option selected>" : "<option>");
		mw_html_text(b, name);
		mw_buf_str(b, "</option>");
	}
}

/* A form that sets a mark, unless the request is read-only. */
static void mark_form(struct mw_buf *b, void *ctx)
{
	const struct mw_call *call = ctx;

	if (mw_read_only(call))
		return;
	mw_buf_str(b, "<form class=\"filter\" action=\"");
	mw_html_text(b, call->req->base);
	mw_buf_fmt(b,
		   "/mark\" method=\"post\"><label>Name of this moment <input name=\"name\" required maxlength=\"%d\" "
		   "autocomplete=\"off\" placeholder=\"deploy-17\"></label>\n<button>Mark now</button></form>\n",
		   MW_MARKS_NAME);
}

static void clear_form(struct mw_buf *b, const struct mw_call *call, const char *name)
{
	mw_buf_str(b, "<td>");
	if (!mw_read_only(call)) {
		mw_html_text_in(b, "<form action=\"", call->req->base,
				"/mark/clear\" method=\"post\"><input type=\"hidden\" name=\"name\" value=\"");
		mw_html_text(b, name);
		mw_html_text_in(b, "\"><button aria-label=\"Clear ", name, "\">Clear</button></form>");
	}
	mw_buf_str(b, "</td>");
}

/* The newest first: it is the one that is looked for. */
static void marks_rows(struct mw_buf *b, void *ctx)
{
	const struct mw_call *call = ctx;
	const struct mw_site *s = call->req->site;

	for (uint32_t i = s->marks.n; i-- > 0;) {
		const struct mw_named_mark *m = &s->marks.v[i];

		mw_buf_str(b, "<tr>");
		clear_form(b, call, m->name);
		mw_buf_str(b, "<td class=\"num\"><time>");
		mw_buf_time(b, m->moment.unix_time);
		mw_buf_str(b, "</time></td>");
		if (m->moment.has_gc)
			mw_html_number(b, m->moment.generation);
		else
			mw_buf_str(b, "<td class=\"num\">\xe2\x80\x93</td>");
		mw_html_bytes_cell(b, m->moment.rss);
		mw_html_number(b, m->moment.live);
		mw_html_bytes_cell(b, m->moment.live_bytes);
		mw_buf_str(b, "<td class=\"num\">");
		mw_html_duration(b, mw_site_uptime(s) - m->moment.uptime);
		mw_html_text_in(b, "</td><td class=\"location\"><a href=\"", call->req->base,
				"/diff?from=");
		mw_percent_encode(b, m->name, strlen(m->name));
		mw_html_text_in(b, "\">", m->name, "</a></td></tr>\n");
	}
	if (!s->marks.n)
		mw_buf_str(b, "<tr><td class=\"empty\" colspan=\"8\">No moment is marked.</td></tr>\n");
}

static void room(struct mw_buf *b, void *ctx)
{
	const struct mw_marks *marks = ctx;

	mw_buf_fmt(b, "%" PRIu32 " of %d", marks->n, MW_MARKS_MAX);
	if (!marks->n)
		return;
	mw_buf_str(b, ", in ");
	mw_html_bytes(b, mw_marks_bytes(marks), false);
	if (marks->gone)
		mw_buf_fmt(b, "; %" PRIu32 " older ones were dropped", marks->gone);
}

static void marks_page(struct mw_buf *b, void *ctx)
{
	struct mw_call *call = ctx;
	const struct mw_slot slots[] = {
		{ .name = "base", .text = call->req->base },
		{ .name = "form", .fill = mark_form, .ctx = call },
		{ .name = "rows", .fill = marks_rows, .ctx = call },
		{ .name = "room", .fill = room, .ctx = &call->req->site->marks },
	};

	mw_template(b, "marks.html", slots, sizeof(slots) / sizeof(slots[0]));
}

void mw_page_marks(struct mw_call *call)
{
	const struct mw_site *s = call->req->site;

	if (call->form == MW_FORM_HTML) {
		mw_reply_page(call, "marks", marks_page, call);
		return;
	}
	mw_reply_form(call, call->form);
	if (call->form == MW_FORM_JSON)
		marks_json(&call->res->body, s);
	else
		marks_lines(&call->res->body, &s->marks, call->form == MW_FORM_CSV);
}
