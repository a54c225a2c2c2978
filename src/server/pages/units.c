/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * units.c - amounts and durations as people read them, in the form of web/src/format.js: three
 * digits at most before the unit, 1 KB is 1,024 bytes. The exact number is in the title.
 */
#include <inttypes.h>
#include <string.h>

#include "shared/report/columns.h"
#include "pages.h"

#define SPACE "\xc2\xa0" /* without a break */
#define DASH "\xe2\x80\x93"

void mw_html_bytes(struct mw_buf *b, uint64_t v, bool minus)
{
	const char *sign = minus && v ? "-" : "";

	const char *unit;

	mw_buf_fmt(b, "<span class=\"amount\" title=\"%s", sign);
	mw_buf_commas(b, v);
	mw_buf_str(b, v == 1 ? " byte\">" : " bytes\">");
	mw_buf_str(b, *sign ? "\xe2\x88\x92" : ""); /* a minus sign */
	unit = mw_buf_amount(b, v, false);
	mw_buf_fmt(b, SPACE "%s</span>", unit);
}

void mw_html_byte_range(struct mw_buf *b, uint64_t from, uint64_t to)
{
	const char *unit, *last;
	struct mw_buf end = { 0 };

	mw_buf_str(b, "<span class=\"amount\" title=\"");
	mw_buf_commas(b, from);
	mw_buf_str(b, DASH);
	mw_buf_commas(b, to);
	mw_buf_str(b, " bytes\">");
	unit = mw_buf_amount(b, from, true);
	last = mw_buf_amount(&end, to < UINT64_MAX ? to + 1 : to, true);
	if (strcmp(unit, last) != 0)
		mw_buf_fmt(b, SPACE "%s", unit);
	mw_buf_str(b, DASH);
	mw_buf_add(b, end.p, end.n);
	mw_buf_fmt(b, SPACE "%s</span>", last);
	b->failed |= end.failed;
	mw_buf_free(&end);
}

void mw_html_bytes_cell(struct mw_buf *b, uint64_t v)
{
	mw_buf_str(b, "<td class=\"num\">");
	mw_html_bytes(b, v, false);
	mw_buf_str(b, "</td>");
}

void mw_html_value(struct mw_buf *b, const struct mw_cell *c, enum mw_type type)
{
	if (c->kind == MW_CELL_NONE)
		mw_buf_str(b, DASH);
	else if (type == MW_TYPE_BYTES && c->kind == MW_CELL_UINT)
		mw_html_bytes(b, c->u, false);
	else if (type == MW_TYPE_BYTES && c->kind == MW_CELL_INT)
		mw_html_bytes(b, c->i < 0 ? 0 - (uint64_t)c->i : (uint64_t)c->i, c->i < 0);
	else
		mw_cell_whole(b, c);
}

void mw_html_duration(struct mw_buf *b, double seconds)
{
	uint64_t s = seconds > 0 && seconds < 1e15 ? (uint64_t)seconds : 0;

	if (s >= 86400)
		mw_buf_fmt(b, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		mw_buf_fmt(b, "%" PRIu64 " h %" PRIu64 " m", s / 3600, s / 60 % 60);
	else if (s >= 60)
		mw_buf_fmt(b, "%" PRIu64 " m %" PRIu64 " s", s / 60, s % 60);
	else
		mw_buf_fmt(b, "%" PRIu64 " s", s);
}

void mw_html_location(struct mw_buf *b, const char *s, size_t n)
{
	for (size_t from = 0, i = 0; i < n; i++) {
		if (s[i] != '/' && i + 1 < n)
			continue;
		mw_buf_html(b, s + from, i + 1 - from);
		if (i + 1 < n)
			mw_buf_str(b, "<wbr>");
		from = i + 1;
	}
}
