/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages.h - shared by the handlers of the route table. Each answers one request
 * by filling call->res, and holds nothing afterwards.
 */
#pragma once

#include "api/version.h"
#include "server/report/called_by.h"
#include "shared/report/columns.h"
#include "server/marks/moment.h"
#include "server/http/call.h"
#include "server/http/params.h"
#include "routes.h"
#include "site.h"
#include "server/http/template.h"
#include "shared/text/json.h"

/* routes.c */

/* Is the request ambiguous or malformed? If so, answers it with 4xx. */
bool mw_request_wrong(struct mw_call *);

/* site.c */

/* Is this a request to one process's own server? If not, answers it with 503. */
bool mw_has_site(struct mw_call *);

/* controls.c */

/* Is this request read-only? Pages then have no controls. */
bool mw_read_only(const struct mw_call *);

/* Answers a POST that was done: a line for programs, 303 for a browser's form, JSON with `said`. */
void mw_done(struct mw_call *, const char *line, const char *said);
/* The same with a line that was put together: ends it. The caller still owns it. */
void mw_done_text(struct mw_call *, struct mw_buf *line);
bool mw_wants_json(const struct mw_request *);
/* Trims, and notes that as an event. False: there was no memory to give back. */
bool mw_trim(struct mw_call *);
/* Adds an event to the call's site, now or later (mw_route_after). text may be NULL; both are copied. */
void mw_call_event(struct mw_call *, const char *kind, const char *text);
void mw_site_take_event(struct mw_site *, const char *kind, const char *text);

/* source.c */

/* Reads up to `size` bytes from a file's start; returns their number, 0 if it can't be read. */
size_t mw_read_start(const char *path, char *text, size_t size);

/* html.c */

/* Calls say, as text, with each reason why numbers are incomplete. */
void mw_warnings(const struct mw_stats *, void (*say)(void *ctx, const char *text), void *ctx);

/* --- units.c --- */

/* 1.18 MB, as an element with the exact number in its title; minus: of a negative one. */
void mw_html_bytes(struct mw_buf *, uint64_t, bool minus);
/* From `from` to `to`, which is included: 2-4 KB */
void mw_html_byte_range(struct mw_buf *, uint64_t from, uint64_t to);
/* An amount as a cell: <td class="num"> */
void mw_html_bytes_cell(struct mw_buf *, uint64_t);
/* A cell's value for people; type: the column's. */
void mw_html_value(struct mw_buf *, const struct mw_cell *, enum mw_type type);
/* 3 d 4 h, 3 h 12 m, 12 m 5 s, 5 s */
void mw_html_duration(struct mw_buf *, double seconds);
/* A location, which may be broken behind each slash. */
void mw_html_location(struct mw_buf *, const char *, size_t);

/* --- layout.c --- */

/* Turns a 404 with its line of text into a page for a browser, by the request's Accept. */
void mw_missing_page(struct mw_call *);

/* Answers with a whole page: 200, the layout around the output of `fill`. */
void mw_reply_page(struct mw_call *, const char *title, void (*fill)(struct mw_buf *, void *), void *ctx);
/* Appends the URL of the style sheet, escaped. */
void mw_html_css(struct mw_buf *, const struct mw_call *);
/* The forms for POST, or a note that the page is read-only. ctx: struct mw_call. */
void mw_html_controls(struct mw_buf *, void *ctx);
/* The process in a few words. ctx: struct mw_call. */
void mw_html_facts(struct mw_buf *, void *ctx);
/* <td class="num">1,234</td> */
void mw_html_number(struct mw_buf *, uint64_t);
/* A cell of a number, or of a kind. */
void mw_html_cell(struct mw_buf *, struct mw_call *, const struct mw_column *, const struct mw_row *,
		  bool sorted_by);
/* Are lifespans bytes that were allocated meanwhile, as without Ruby? Else they are garbage collections. */
bool mw_life_in_bytes(struct mw_call *);
/* href="BASE/at/LOCATION" and ext; a location over MW_LINK_MAX encoded bytes by its short id. */
void mw_html_at_href(struct mw_buf *, const struct mw_call *, const struct mw_row *, const char *ext);
/* href="BASE/flame?location=LOCATION&amp;invert=1", likewise: its callers. */
void mw_html_flame_href(struct mw_buf *, const struct mw_call *, const struct mw_row *);
/* href="BASE/holders?location=LOCATION", likewise: what holds its blocks. The row may be NULL: all blocks. */
void mw_html_holders_href(struct mw_buf *, const struct mw_call *, const struct mw_row *, const char *ext);
void mw_html_text(struct mw_buf *, const char *);
/* The same, or a number, between two pieces of HTML. */
void mw_html_text_in(struct mw_buf *, const char *before, const char *, const char *after);
void mw_html_commas_in(struct mw_buf *, const char *before, uint64_t, const char *after);
/*
 * A column's header is a link: its href comes between these two. order: > 0 if the table is sorted by it
 * upwards, < 0 downwards, 0: by another one.
 */
void mw_html_column_begin(struct mw_buf *, const struct mw_column *, int order);
void mw_html_column_end(struct mw_buf *, const struct mw_column *, int order);

/* The rows that a page shows of a longer list. */
struct mw_slice {
	uint64_t offset, limit; /* as asked for; limit: at most MW_PAGE_MAX, never 0 */
	size_t n, total; /* shown, and in the list */
	void (*href)(struct mw_buf *, const void *ctx, uint64_t offset); /* appends href="..." */
	const void *ctx;
};
/* How many rows a page shows, if so many were asked for; 0: all. */
uint64_t mw_page_limit(uint64_t asked);
/* Links to the rows before and behind; nothing if all are shown. */
void mw_html_pager(struct mw_buf *, const struct mw_slice *);

/* The sentence and the last 15 minutes; nothing without a site. ctx: struct mw_call */
void mw_html_past(struct mw_buf *, void *ctx);
/* The points that a page shows of a span of time: by default, at most, and at most of one location. */
struct mw_points {
	uint64_t usual, max, max_one;
};
/*
 * The query of a page about the site's past: *span is up to now unless it says otherwise. False: the
 * request is answered, by 400.
 */
bool mw_span_query(struct mw_call *, const struct mw_points *, struct mw_span *span);
/* Appends why the history has nothing of a time. Returns 400. */
int mw_unknown_time(struct mw_buf *why, const struct mw_site *);
/*
 * Begins a JSON object about a site: {"start":"...","now":1.250,"unix":... The names of the last two may begin
 * lines. `start` names the process: behind a Rack server any worker may answer. Without a site they are empty.
 */
void mw_json_head(struct mw_buf *, const struct mw_site *, double now, const char *name_of_now,
		  const char *name_of_unix);
/* Appends its members time, unix and uptime. */
void mw_json_moment(struct mw_buf *, const struct mw_moment *);

/* objects.c: Ruby's objects of a location: a paragraph, or nothing if none stay; a member "classes" behind a comma */
void mw_html_objects(struct mw_buf *, const struct mw_at *);
void mw_json_objects(struct mw_buf *, const struct mw_at *);

/* called.c */

/* A location's callers. */
struct mw_called {
	bool kept; /* does the process keep stacks? If not, the rest is all zero */
	struct mw_profile profile; /* owned; of this location alone */
	struct mw_called_by callers;
};
/* False: no memory, and all is zero. The at outlives it. */
bool mw_called_make(struct mw_called *, const struct mw_api *, const struct mw_at *);
void mw_called_free(struct mw_called *, const struct mw_api *); /* all zero again */
/* A table of them, or a sentence how to have them kept. */
void mw_html_called(struct mw_buf *, const struct mw_called *, const struct mw_call *,
		    const struct mw_row *);

/* marks.c */

/* Appends that there is no mark of that name. Returns 404. */
int mw_no_such_mark(struct mw_buf *why, const char *param, const char *name, size_t n);
/* Options of a <select>: the marks' names, the newest first. chosen: that one is selected. */
void mw_html_mark_options(struct mw_buf *, const struct mw_marks *, const char *chosen, size_t n);

/* head.c: the comment line on top of a TSV file (doc/compare.md). The caller ends it with a newline. */

void mw_head_begin(struct mw_buf *);
/* Fields, each behind a space. A prefix comes before the field's name. */
void mw_head_text(struct mw_buf *, const char *field, const char *value, size_t n);
void mw_head_u64(struct mw_buf *, const char *field, uint64_t);
void mw_head_i64(struct mw_buf *, const char *field, int64_t);
void mw_head_seconds(struct mw_buf *, const char *prefix, const char *field, double);
/* time, unix, uptime */
void mw_head_times(struct mw_buf *, const char *prefix, const struct mw_moment *);
/* pid and start, or processes of a sum */
void mw_head_process(struct mw_buf *, const struct mw_call *);
/* gc, rss, live_bytes, live, resets */
void mw_head_moment(struct mw_buf *, const struct mw_moment *);

/* events.c */

/* Appends the event "point": the process as a whole. ctx: struct mw_site; t: uptime. */
void mw_event_point(struct mw_buf *, void *ctx, double t);

/* The routes' handlers. */
#define MW_ROUTE(flags, pattern, handler, all) void handler(struct mw_call *);
#include "api/routes.def"
#undef MW_ROUTE

#define MW_PARAMETERS_MAX 100u /* of a query; there are fewer than 20 names */
#define MW_LINK_MAX 1024u /* bytes of a location in a link; web/src/server.js has it, too */
#define MW_EACH_LIMIT 100u /* rows of a page by default */
#define MW_PAGE_MAX 500u /* and at most; other forms have no limit */
#define MW_HOME_LIMIT 50u
#define MW_METRICS_TOP 20u /* locations in /metrics by default */
#define MW_METRICS_TOP_MAX 1000u
#define MW_AT_LIMIT 100u /* live allocations on a page */
