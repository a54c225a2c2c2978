/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/family/family.h"
#include "server/http/gzip.h"
#include "server/pages/pages.h"

enum { TOP = 5 };
#define MOST_ROWS "sort=live_bytes&limit=10000" /* some 2 MB of text */

/* clang-format off */
const char *const mw_report_files[MW_REPORT_FILES] = {
	"verdict.txt", "each.tsv",
	"stats.json", "history.json", "diff.tsv", "stacks.pprof.gz", "report.html", "each-all.tsv",
};
/* clang-format on */
enum { VERDICT, EACH, STATS, HISTORY, DIFF, STACKS, PAGE };

static const char *no_header(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return NULL;
}

/* Takes the body of an answer, and frees the rest. False: it is none. */
static bool take_body(struct mw_buf *to, struct mw_response *res)
{
	bool right =
		res->status == 200 && !res->body.failed && (!res->gzip_file || mw_gzip_file(&res->body));

	if (right) {
		*to = res->body;
		res->body = (struct mw_buf){ 0 };
	}
	mw_response_free(res);
	return right;
}

bool mw_report_answer(struct mw_buf *to, struct mw_site *s, const char *path, const char *query)
{
	const struct mw_request req = {
		.method = "GET",
		.path = path,
		.query = query,
		.base = "",
		.peer = MW_PEER_UNIX,
		.header = no_header,
		.site = s
	};
	struct mw_response res;

	mw_route(s->api, &req, &res);
	return take_body(to, &res);
}

/* In a young process the verdict names no line yet. */
static void top(struct mw_buf *b, const struct mw_api *api)
{
	const struct mw_query q = { .sort = mw_column_find("live_bytes", 10), .limit = TOP };
	struct mw_result r;
	const char *unit;

	if (mw_result_make(&r, api, &q))
		return;
	mw_buf_str(b, "\nMost live memory:\n");
	for (size_t i = 0; i < r.n; i++) {
		unit = mw_buf_amount(b, r.rows[i].live_bytes, false);
		mw_buf_fmt(b, " %s in ", unit);
		mw_buf_commas(b, r.rows[i].live);
		mw_buf_str(b, " blocks at ");
		mw_buf_tsv(b, r.rows[i].location, r.rows[i].location_len);
		mw_buf_str(b, "\n");
	}
	mw_result_free(&r, api);
}

/* The verdict without a map, which may take long. */
static void verdict(struct mw_buf *b, struct mw_site *s, const struct mw_report_about *about)
{
	const struct mw_said *said = mw_site_said(s);
	uint64_t rss;

	if (said) {
		mw_buf_add(b, said->sentence.p, said->sentence.n);
		mw_buf_str(b, "\n");
		mw_buf_add(b, said->next.p, said->next.n);
		mw_buf_str(b, said->next.n ? "\n" : "");
	}
	mw_buf_fmt(b, "\nWritten because %s, at ", about->cause);
	mw_buf_time(b, mw_unix_now());
	mw_buf_fmt(b, ", by process %ld (%s) after ", (long)getpid(), about->app);
	mw_buf_u64(b, (uint64_t)mw_site_uptime(s));
	mw_buf_str(b, " seconds");
	if (mw_rss_bytes(s->statm, &rss)) {
		mw_buf_str(b, "; its RSS was ");
		const char *unit = mw_buf_amount(b, rss, false);

		mw_buf_fmt(b, " %s", unit);
	}
	mw_buf_str(b, ".\n");
	top(b, s->api);
}

/* The history answers for a time; without it a difference begins with the process. */
static bool diff(struct mw_buf *b, struct mw_site *s, double since)
{
	char query[64];

	if (since >= 0) {
		snprintf(query, sizeof(query), "from=%.0f", since);
		if (mw_report_answer(b, s, "/diff.tsv", query))
			return true;
	}
	return mw_report_answer(b, s, "/diff.tsv", "from=start");
}

bool mw_report_render(struct mw_buf *b, struct mw_site *s, int file, const struct mw_report_about *about)
{
	bool right = false;

	*b = (struct mw_buf){ 0 };
	switch (file) {
	case VERDICT:
		verdict(b, s, about);
		right = true;
		break;
	case EACH:
		right = mw_report_answer(b, s, "/snapshot.tsv", MOST_ROWS);
		break;
	case STATS:
		right = mw_report_answer(b, s, "/stats.json", NULL);
		break;
	case HISTORY:
		right = mw_report_answer(b, s, "/history.json", NULL);
		break;
	case DIFF:
		right = diff(b, s, about->since);
		break;
	case STACKS:
		right = mw_report_answer(b, s, "/debug/pprof/heap", NULL);
		break;
	case PAGE:
		right = mw_report_page(b, s, about);
		break;
	}
	if (b->failed || !right)
		mw_buf_free(b);
	return b->n > 0;
}

void mw_report_render_all(struct mw_buf *to, const struct mw_api *api)
{
	const struct mw_request req = {
		.method = "GET",
		.path = "/all/each/0.tsv",
		.query = MOST_ROWS,
		.base = "",
		.mount = "",
		.peer = MW_PEER_UNIX,
		.header = no_header
	};
	struct mw_response res = { 0 };
	struct mw_stats stats = { 0 };
	struct mw_family family;

	api->stats(&stats);
	if (stats.forker || !api->server_endpoint || !api->server_endpoint(&family))
		return;
	if (family.path[0] || family.dir[0])
		mw_family_answer(&family, api, &req, &res);
	explicit_bzero(&family, sizeof(family)); /* it has the token */
	(void)take_body(to, &res);
}
