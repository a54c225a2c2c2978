/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render.c - a result's rows as text, TSV, CSV and JSON.
 *
 * With any bytes in a location, one row is one line in text and TSV and one
 * record in CSV. All forms but text are valid UTF-8.
 */
#include "columns.h"
#include "report.h"
#include "shared/text/json.h"

static void render_text(struct mw_buf *b, const struct mw_result *res)
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

/* The columns of a table, and the separators and escapes of TSV or CSV. */
struct form {
	const struct mw_column *columns[MW_ALL_COLUMNS_N];
	int n;
	const char *between, *end;
	escape_fn escape;
};

static struct form form_of(enum mw_format format)
{
	if (format == MW_FORMAT_CSV)
		return (struct form){ .between = ",", .end = "\r\n", .escape = mw_buf_csv };
	return (struct form){ .between = "\t", .end = "\n", .escape = mw_buf_tsv };
}

static void put_header_line(struct mw_buf *b, const struct form *f)
{
	for (int c = 0; c < f->n; c++) {
		mw_buf_str(b, c ? f->between : "");
		mw_buf_str(b, f->columns[c]->name);
	}
	mw_buf_str(b, f->end);
}

static void put_row_line(struct mw_buf *b, const struct form *f, const struct mw_row *r)
{
	for (int c = 0; c < f->n; c++) {
		struct mw_cell cell = { 0 };

		f->columns[c]->get(r, &cell);
		mw_buf_str(b, c ? f->between : "");
		if (cell.kind == MW_CELL_TEXT)
			f->escape(b, cell.s, cell.u);
		else
			mw_cell_plain(b, &cell);
	}
	mw_buf_str(b, f->end);
}

/* TSV and CSV: a header line, then one line for each row. */
static void render_lines(struct mw_buf *b, const struct mw_result *res, enum mw_format format)
{
	struct form f = form_of(format);

	for (int c = 0; c < MW_ALL_COLUMNS_N; c++)
		if (mw_column_is_in(c, res->snapshot->family, res->snapshot->kinds))
			f.columns[f.n++] = &mw_columns[c];
	put_header_line(b, &f);
	for (size_t i = 0; i < res->n; i++)
		put_row_line(b, &f, &res->rows[i]);
}

static void member(struct mw_buf *b, const struct mw_column *column, const struct mw_row *r)
{
	struct mw_cell cell = { 0 };

	column->get(r, &cell);
	mw_json_key(b, column->name);
	mw_cell_json(b, &cell);
}

void mw_json_row(struct mw_buf *b, const struct mw_row *r)
{
	for (int c = 0; c < MW_ALL_COLUMNS_N; c++)
		if (mw_column_is_of(c, r))
			member(b, &mw_columns[c], r);
}

/* An array of objects, without a newline at its end. */
static void objects(struct mw_buf *b, const struct mw_table *t, const struct mw_row *rows, size_t n)
{
	mw_buf_str(b, "[");
	for (size_t i = 0; i < n; i++) {
		mw_json_open(b, "\n", '{');
		for (int c = 0; c < t->n; c++)
			member(b, &t->columns[c], &rows[i]);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, n ? "\n]" : "]");
}

static void render_json(struct mw_buf *b, const struct mw_result *res)
{
	mw_buf_str(b, "[");
	for (size_t i = 0; i < res->n; i++) {
		mw_buf_str(b, i ? ",\n{" : "\n{");
		mw_json_row(b, &res->rows[i]);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, res->n ? "\n]\n" : "]\n");
}

void mw_render_table(struct mw_buf *b, const struct mw_table *t, const struct mw_row *rows, size_t n,
		     enum mw_format format)
{
	struct form f = form_of(format);

	if (format == MW_FORMAT_JSON) {
		objects(b, t, rows, n);
		return;
	}
	for (int c = 0; c < t->n; c++)
		f.columns[f.n++] = &t->columns[c];
	put_header_line(b, &f);
	for (size_t i = 0; i < n; i++)
		put_row_line(b, &f, &rows[i]);
}

void mw_render(struct mw_buf *b, const struct mw_result *res, enum mw_format format)
{
	switch (format) {
	case MW_FORMAT_TEXT:
		render_text(b, res);
		break;
	case MW_FORMAT_TSV:
	case MW_FORMAT_CSV:
		render_lines(b, res, format);
		break;
	case MW_FORMAT_JSON:
		render_json(b, res);
		break;
	}
}

/* --- overruns ------------------------------------------------------------- */

static void overruns_json(struct mw_buf *b, const struct mw_overruns_list *l)
{
	mw_buf_str(b, "{");
	mw_json_u64(b, "\noverruns", l->stats.overruns);
	mw_json_u64(b, "\ndouble_frees", l->stats.double_frees);
	mw_json_u64(b, "\nunknown_frees", l->stats.unknown_frees);
	mw_json_u64(b, "\nwrong_sizes", l->stats.wrong_sizes);
	mw_json_open(b, "\nrows", '[');
	for (size_t i = 0; i < l->n; i++) {
		mw_json_open(b, "\n", '{');
		for (int c = 0; c < MW_OVERRUN_COLUMNS_N; c++)
			member(b, &mw_overrun_columns[c], l->rows[i]);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, l->n ? "\n]\n}\n" : "]\n}\n");
}

void mw_render_overruns(struct mw_buf *b, const struct mw_overruns_list *l, enum mw_format format)
{
	struct form f = form_of(format);

	for (int c = 0; c < MW_OVERRUN_COLUMNS_N; c++)
		f.columns[f.n++] = &mw_overrun_columns[c];
	if (format == MW_FORMAT_JSON) {
		overruns_json(b, l);
		return;
	}
	put_header_line(b, &f);
	for (size_t i = 0; i < l->n; i++)
		put_row_line(b, &f, l->rows[i]);
}

void mw_json_location(struct mw_buf *b, const char *location, uint32_t len, uint32_t file_len,
		      enum mw_kind kind)
{
	static const char *const kinds[] = { "ruby", "native", "special" };

	mw_json_text(b, NULL, location, len);
	mw_json_u64(b, NULL, mw_utf16_units(location, file_len < len ? file_len : len));
	mw_json_str(b, NULL, kinds[kind <= MW_KIND_SPECIAL ? kind : MW_KIND_SPECIAL]);
}
