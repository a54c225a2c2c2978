/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render.c - a result's rows as text, TSV, CSV and JSON.
 *
 * Whatever a location holds, one row is one line in text and TSV and one
 * record in CSV, and all but text is valid UTF-8.
 */
#include "columns.h"
#include "report.h"

static void text(struct mw_buf *b, const struct mw_result *res)
{
	for (size_t i = 0; i < res->n; i++) {
		const struct mw_row *r = &res->rows[i];

		mw_buf_pad_u64(b, r->total, 16);
		mw_buf_str(b, " ");
		mw_buf_pad_u64(b, r->allocations, 12);
		mw_buf_str(b, " ");
		mw_buf_text(b, r->location, r->location_len);
		mw_buf_str(b, "\n");
	}
}

typedef void (*escape_fn)(struct mw_buf *, const char *, size_t);

/* TSV and CSV: a header line, then one line for each row. */
static void lines(struct mw_buf *b, const struct mw_result *res, const char *between,
		  const char *end, escape_fn escape)
{
	for (int c = 0; c < MW_COLUMNS_N; c++) {
		mw_buf_str(b, c ? between : "");
		mw_buf_str(b, mw_columns[c].name);
	}
	mw_buf_str(b, end);
	for (size_t i = 0; i < res->n; i++) {
		for (int c = 0; c < MW_COLUMNS_N; c++) {
			struct mw_cell cell = { 0 };

			mw_columns[c].get(&res->rows[i], &cell);
			mw_buf_str(b, c ? between : "");
			if (cell.kind == MW_CELL_TEXT)
				escape(b, cell.s, cell.u);
			else
				mw_cell_plain(b, &cell);
		}
		mw_buf_str(b, end);
	}
}

void mw_json_row(struct mw_buf *b, const struct mw_row *r)
{
	for (int c = 0; c < MW_COLUMNS_N; c++) {
		struct mw_cell cell = { 0 };

		mw_columns[c].get(r, &cell);
		mw_buf_str(b, c ? ",\"" : "\"");
		mw_buf_str(b, mw_columns[c].name);
		mw_buf_str(b, "\":");
		if (cell.kind == MW_CELL_TEXT)
			mw_buf_json(b, cell.s, cell.u);
		else if (cell.kind == MW_CELL_NONE)
			mw_buf_str(b, "null");
		else
			mw_cell_plain(b, &cell);
	}
}

static void json(struct mw_buf *b, const struct mw_result *res)
{
	mw_buf_str(b, "[");
	for (size_t i = 0; i < res->n; i++) {
		mw_buf_str(b, i ? ",\n{" : "\n{");
		mw_json_row(b, &res->rows[i]);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, res->n ? "\n]\n" : "]\n");
}

void mw_render(struct mw_buf *b, const struct mw_result *res, enum mw_format format)
{
	switch (format) {
	case MW_FORMAT_TEXT:
		text(b, res);
		break;
	case MW_FORMAT_TSV:
		lines(b, res, "\t", "\n", mw_buf_tsv);
		break;
	case MW_FORMAT_CSV:
		lines(b, res, ",", "\r\n", mw_buf_csv);
		break;
	case MW_FORMAT_JSON:
		json(b, res);
		break;
	}
}
