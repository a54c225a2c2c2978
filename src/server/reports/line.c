/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "line.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/history/limit.h"
#include "server/pages/pages.h"
#include "shared/sys/log.h"
#include "shared/text/json.h"

enum {
	SENTENCE = 1000, /* bytes of it at most */
	ROOM = PIPE_BUF - 4, /* "]}\n" is behind it */
	ROWS = 100
};

static struct stat at_start; /* st_mode 0: it was closed */

/* --- text ------------------------------------------------------------------------------------ */

static void put_said_text(struct mw_buf *b, const char *name, const struct mw_buf *said)
{
	size_t n = said->n < SENTENCE ? said->n : mw_utf8_begin(said->p, SENTENCE);

	if (n)
		mw_json_text(b, name, said->p, n);
}

static void put_report_figures(struct mw_buf *b, struct mw_site *s)
{
	struct mw_stats stats = { 0 };
	struct mw_limits l;
	uint64_t rss;

	s->api->stats(&stats);
	mw_json_u64(b, "live_bytes", stats.live_bytes);
	mw_json_u64(b, "live", stats.live);
	if (stats.peak_bytes)
		mw_json_u64(b, "peak_bytes", stats.peak_bytes);
	if (mw_rss_bytes(s->statm, &rss))
		mw_json_u64(b, "rss_bytes", rss);
	mw_limits_read(&l);
	if (l.of)
		mw_json_u64(b, "limit_bytes", l.bytes);
}

static void put_report_row(struct mw_buf *b, const struct mw_row *r)
{
	mw_json_open(b, NULL, '{');
	mw_json_text(b, "location", r->location, r->location_len);
	mw_json_u64(b, "live_bytes", r->live_bytes);
	mw_json_u64(b, "live", r->live);
	mw_json_i64(b, "growth", r->growth);
	mw_buf_str(b, "}");
}

static bool put_report_rows(struct mw_buf *b, const struct mw_api *api)
{
	const struct mw_query q = { .sort = mw_column_find("live_bytes", 10), .limit = ROWS };
	struct mw_result result;

	if (mw_result_make(&result, api, &q))
		return false;
	mw_json_open(b, "rows", '[');
	for (size_t i = 0; i < result.n && !b->failed; i++) {
		size_t before = b->n;

		put_report_row(b, &result.rows[i]);
		if (b->n <= ROOM)
			continue;
		b->n = before;
		break;
	}
	mw_buf_str(b, "]");
	mw_result_free(&result, api);
	return true;
}

bool mw_report_line(struct mw_buf *b, struct mw_site *s, const struct mw_report_about *about)
{
	const struct mw_said *said = mw_site_said(s);
	struct mw_buf time = { 0 };

	mw_buf_str(b, "{");
	mw_json_str(b, "mwrap", MWRAP_VERSION);
	mw_json_str(b, "report", about->app);
	mw_json_u64(b, "pid", (uint64_t)getpid());
	mw_buf_time(&time, mw_unix_now());
	mw_json_text(b, "time", time.p, time.n);
	mw_buf_free(&time);
	mw_json_seconds(b, "uptime", mw_site_uptime(s));
	mw_json_str(b, "cause", about->cause);
	if (said) {
		put_said_text(b, "sentence", &said->sentence);
		put_said_text(b, "next", &said->next);
	}
	put_report_figures(b, s);
	if (!put_report_rows(b, s->api))
		return false;
	mw_buf_str(b, "}\n");
	return true;
}

/* --- the descriptor -------------------------------------------------------------------------- */

void mw_report_line_start(int fd)
{
	if (fstat(fd, &at_start))
		at_start.st_mode = 0;
}

int mw_report_line_write(int fd, const struct mw_buf *line)
{
	ssize_t wrote;
	size_t done = 0;

	if (!mw_is_still_output(fd, &at_start))
		return EBADF;
	while (done < line->n) {
		wrote = write(fd, line->p + done, line->n - done);
		if (wrote < 0 && errno != EINTR)
			return errno;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return 0;
}
