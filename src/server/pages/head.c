/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * head.c - the comment line on top of a TSV file that says what it is of. doc/compare.md has the
 * format: NAME=VALUE fields with a space between. A reader ignores names that it doesn't know.
 */
#include <string.h>
#include <unistd.h>

#include "pages.h"

void mw_head_begin(struct mw_buf *b)
{
	mw_buf_str(b, "# mwrap=" MWRAP_VERSION);
}

static void put_field_name(struct mw_buf *b, const char *prefix, const char *field)
{
	mw_buf_str(b, " ");
	mw_buf_str(b, prefix);
	mw_buf_str(b, field);
	mw_buf_str(b, "=");
}

void mw_head_text(struct mw_buf *b, const char *field, const char *value, size_t n)
{
	put_field_name(b, "", field);
	mw_percent_encode(b, value, n);
}

void mw_head_u64(struct mw_buf *b, const char *field, uint64_t v)
{
	put_field_name(b, "", field);
	mw_buf_u64(b, v);
}

void mw_head_i64(struct mw_buf *b, const char *field, int64_t v)
{
	put_field_name(b, "", field);
	mw_buf_i64(b, v);
}

void mw_head_seconds(struct mw_buf *b, const char *prefix, const char *field, double v)
{
	put_field_name(b, prefix, field);
	mw_buf_seconds(b, v);
}

void mw_head_times(struct mw_buf *b, const char *prefix, const struct mw_moment *m)
{
	put_field_name(b, prefix, "time");
	mw_buf_time(b, m->unix_time);
	mw_head_seconds(b, prefix, "unix", m->unix_time);
	mw_head_seconds(b, prefix, "uptime", m->uptime);
}

void mw_head_process(struct mw_buf *b, const struct mw_call *call)
{
	const struct mw_site *s = call->req->site;
	struct mw_stats stats = { 0 };

	call->api->stats(&stats);
	if (stats.processes) {
		mw_head_u64(b, "processes", stats.processes);
		return;
	}
	mw_head_u64(b, "pid", (uint64_t)getpid());
	if (s)
		mw_head_text(b, "start", s->stream.start, strlen(s->stream.start));
}

void mw_head_moment(struct mw_buf *b, const struct mw_moment *m)
{
	if (m->has_gc)
		mw_head_u64(b, "gc", m->generation);
	if (m->rss)
		mw_head_u64(b, "rss", m->rss);
	mw_head_u64(b, "live_bytes", m->live_bytes);
	mw_head_u64(b, "live", m->live);
	mw_head_u64(b, "resets", m->resets);
}
