/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * columns.h - the one table of columns, made of columns.def.
 *
 * TSV, CSV, JSON, HTML, sorting, the live page and the tests take names, order,
 * titles and explanations from that list. columns.c has each column's getter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

struct mw_buf;

enum mw_type {
	MW_TYPE_BYTES,
	MW_TYPE_COUNT, /* of calls or blocks */
	MW_TYPE_LIFE, /* a lifespan, in mw_stats.life_unit */
	MW_TYPE_MEAN_LIFE,
	MW_TYPE_MEAN, /* of anything but lifespans */
	MW_TYPE_ERROR, /* of an estimate, in per cent */
	MW_TYPE_KIND,  /* of memory, and its share */
	MW_TYPE_TEXT
};

enum mw_cell_kind {
	MW_CELL_NONE,
	MW_CELL_UINT,
	MW_CELL_INT,
	MW_CELL_RATIO,
	MW_CELL_TEXT,
	MW_CELL_ADDRESS, /* 0x7f12345670 */
	MW_CELL_KIND /* "string 92 %" */
};

/* One value of one row. */
struct mw_cell {
	enum mw_cell_kind kind;
	uint64_t u; /* UINT, ADDRESS: the value; RATIO: the dividend; TEXT: bytes; KIND: thousandths */
	uint64_t by; /* RATIO: the divisor, not 0 */
	int64_t i; /* INT */
	const char *s; /* TEXT, KIND: borrowed from the row; KIND: without control characters */
};

struct mw_column {
	const char *name; /* in TSV, CSV, JSON and `sort=` */
	const char *title; /* for people, short */
	const char *about; /* one sentence, plain text */
	enum mw_type type;
	int order; /* the default: 1 ascending, -1 descending */
	int room; /* as in columns.def */
	void (*get)(const struct mw_row *, struct mw_cell *);
};

/* A column's place in each form, such as MW_COLUMN_total, and the number of all. */
enum {
#define COLUMN(name, tables, type, order, room, title, about) MW_COLUMN_##name,
#include "api/columns.def"
#undef COLUMN
	MW_ALL_COLUMNS_N
};

/*
 * Every table has the first MW_COLUMNS_N. A family's sum has those up to MW_FAMILY_COLUMNS_N. One with
 * kinds of memory has the last ones, too.
 */
enum mw_tables { MW_TABLES_EVERY, MW_TABLES_FAMILY, MW_TABLES_KINDS };
/* clang-format off */
enum {
	MW_COLUMNS_N = 0
#define COLUMN(name, tables, type, order, room, title, about) + (MW_TABLES_##tables <= MW_TABLES_EVERY)
#include "api/columns.def"
#undef COLUMN
	,
	MW_FAMILY_COLUMNS_N = 0
#define COLUMN(name, tables, type, order, room, title, about) + (MW_TABLES_##tables <= MW_TABLES_FAMILY)
#include "api/columns.def"
#undef COLUMN
};
/* clang-format on */
extern const struct mw_column mw_columns[MW_ALL_COLUMNS_N];

/* Has such a table that column? */
static inline bool mw_column_is_in(int i, bool family, bool kinds)
{
	return i < MW_COLUMNS_N || (i < MW_FAMILY_COLUMNS_N ? family : kinds);
}
static inline bool mw_column_is_of(int i, const struct mw_row *r)
{
	return mw_column_is_in(i, r->processes, r->top_kind);
}

/* The columns that a query's rows have, and may be sorted by. */
struct mw_table {
	const struct mw_column *columns;
	int n;
	int sort; /* the default */
	/* a query's min is compared with this; NULL: the largest of total, live_bytes and object_bytes */
	uint64_t (*size)(const struct mw_row *);
};
extern const struct mw_table mw_all_table; /* mw_columns */
/* The index of the column of that name, or -1. */
int mw_table_find(const struct mw_table *, const char *name, size_t len);

/* The columns of /overruns. */
enum {
#define OVERRUN_COLUMN(name, type, order, title, about) MW_OVERRUN_COLUMN_##name,
#include "api/columns.def"
#undef OVERRUN_COLUMN
	MW_OVERRUN_COLUMNS_N
};
extern const struct mw_column mw_overrun_columns[MW_OVERRUN_COLUMNS_N];

/* The columns of /labels. */
enum {
#define LABEL_COLUMN(name, type, order, title, about) MW_LABEL_COLUMN_##name,
#include "api/columns.def"
#undef LABEL_COLUMN
	MW_LABEL_COLUMNS_N
};
extern const struct mw_column mw_label_columns[MW_LABEL_COLUMNS_N];

/* The default column to sort by: total, most first. */
#define MW_COLUMN_DEFAULT MW_COLUMN_total

/* The index of the column of that name or alias ("bytes" is total), or -1. */
int mw_column_find(const char *name, size_t len);

/*
 * Appends a cell for TSV, CSV and JSON: plain digits, a ratio with up to three
 * decimals, TEXT as raw bytes, nothing for NONE.
 */
void mw_cell_plain(struct mw_buf *, const struct mw_cell *);

/* Appends a cell as a JSON value: TEXT and ADDRESS with quotes, null for NONE. */
void mw_cell_json(struct mw_buf *, const struct mw_cell *);

/*
 * Appends a cell for people: numbers whole (a ratio rounded half up), with
 * commas between thousands, nothing for NONE; TEXT as raw bytes.
 */
void mw_cell_whole(struct mw_buf *, const struct mw_cell *);
uint64_t mw_cell_rounded(const struct mw_cell *); /* of a ratio */
