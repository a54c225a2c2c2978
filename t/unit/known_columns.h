/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * known_columns.h - tables as TSV, CSV and JSON should have them. The columns that the tests know
 * have the values that a test says; any other column has what its getter gives. So a new column
 * in columns.def turns no test red, and every known value and the order are compared.
 */
#pragma once

#include "../../src/shared/report/columns.h"
#include "../../src/shared/report/report.h"

/* An interface: scripts use them. */
static const char *const known_columns[] = { "total", "allocations", "frees",    "growth",  "live_bytes",
					     "live",  "mean_life",   "max_life", "location" };
enum { KNOWN_N = sizeof(known_columns) / sizeof(*known_columns) };

/* A row's values of these, in their order, as a form has them. */
struct known_row {
	const char *value[KNOWN_N];
};

/* The next of the known columns that is due after `seen` of them. */
static bool is_known(int column, int seen)
{
	return seen < KNOWN_N && !strcmp(mw_columns[column].name, known_columns[seen]);
}

/* The text before a column's value. */
static void want_begin(struct mw_buf *b, enum mw_format format, int column)
{
	mw_buf_str(b, !column ? "" : format == MW_FORMAT_TSV ? "\t" : ",");
	if (format == MW_FORMAT_JSON)
		mw_buf_fmt(b, "\"%s\":", mw_columns[column].name);
}

/* JSON: without the braces. */
static inline void want_row(struct mw_buf *b, enum mw_format format, const struct mw_row *r,
			    const struct known_row *known)
{
	int seen = 0;

	for (int i = 0; i < MW_COLUMNS_N; i++) {
		struct mw_cell cell = { 0 };

		want_begin(b, format, i);
		mw_columns[i].get(r, &cell);
		if (is_known(i, seen))
			mw_buf_str(b, known->value[seen++]);
		else if (format == MW_FORMAT_JSON)
			mw_cell_json(b, &cell);
		else
			mw_cell_plain(b, &cell);
	}
	assert_int_equal(seen, KNOWN_N); /* all are there, in this order */
}

/* A whole table of n rows, and what is known of each. */
static inline void want_table(struct mw_buf *b, enum mw_format format, const struct mw_row *rows,
			      size_t n, const struct known_row *known)
{
	const bool json = format == MW_FORMAT_JSON;
	const char *end = json ? "}" : format == MW_FORMAT_CSV ? "\r\n" : "\n";

	for (int i = 0; !json && i < MW_COLUMNS_N; i++) {
		want_begin(b, format, i);
		mw_buf_str(b, mw_columns[i].name);
	}
	mw_buf_str(b, json ? "[" : end);
	for (size_t i = 0; i < n; i++) {
		mw_buf_str(b, !json ? "" : i ? ",\n{" : "\n{");
		want_row(b, format, &rows[i], &known[i]);
		mw_buf_str(b, end);
	}
	mw_buf_str(b, !json ? "" : n ? "\n]\n" : "]\n");
}
