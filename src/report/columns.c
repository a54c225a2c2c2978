/* SPDX-License-Identifier: GPL-2.0-or-later */
/* columns.c - the table of columns, and cells as text. See columns.h. */
#include <inttypes.h>
#include <string.h>

#include "columns.h"
#include "report.h"

__extension__ typedef unsigned __int128 u128;

static void get_uint(struct mw_cell *c, uint64_t v)
{
	c->kind = MW_CELL_UINT;
	c->u = v;
}

#define GET_UINT(field)                                                    \
	static void get_##field(const struct mw_row *r, struct mw_cell *c) \
	{                                                                  \
		get_uint(c, r->field);                                     \
	}
GET_UINT(total)
GET_UINT(allocations)
GET_UINT(frees)
GET_UINT(live_bytes)
GET_UINT(live)
GET_UINT(life_max)
GET_UINT(processes)
GET_UINT(kind_samples)
GET_UINT(overruns)
GET_UINT(overrun_size)

static void get_growth(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = MW_CELL_INT;
	c->i = r->growth;
}

static void get_mean_life(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = r->frees ? MW_CELL_RATIO : MW_CELL_NONE;
	c->u = r->life_sum;
	c->by = r->frees;
}

static void get_location(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = MW_CELL_TEXT;
	c->s = r->location;
	c->u = r->location_len;
}

static void get_kind(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = r->top_share ? MW_CELL_KIND : MW_CELL_NONE;
	c->s = r->top_kind;
	c->u = r->top_share;
}

/* clang-format off */
const struct mw_column mw_columns[MW_ALL_COLUMNS_N] = {
	{ "total", "Total", "Bytes allocated here since the start or the last reset.",
	  MW_TYPE_BYTES, -1, get_total },
	{ "allocations", "Allocations", "Allocating calls since the start or the last reset.",
	  MW_TYPE_COUNT, -1, get_allocations },
	{ "frees", "Frees", "Blocks of this location freed since the start or the last reset; "
	  "after a reset there may be more of them than allocations.",
	  MW_TYPE_COUNT, -1, get_frees },
	{ "growth", "Growth", "Bytes live now less those live at the start or the last reset; "
	  "a location that only ever grows is where to look for a leak.",
	  MW_TYPE_BYTES, -1, get_growth },
	{ "live_bytes", "Live bytes", "Bytes allocated here and not freed yet, whatever was reset.",
	  MW_TYPE_BYTES, -1, get_live_bytes },
	{ "live", "Live", "Blocks allocated here and not freed yet, whatever was reset.",
	  MW_TYPE_COUNT, -1, get_live },
	{ "mean_life", "Mean life", "Mean lifespan of the freed blocks, in garbage collections "
	  "(without Ruby: in bytes allocated meanwhile); empty if none was freed.",
	  MW_TYPE_MEAN, -1, get_mean_life },
	{ "max_life", "Max life", "Longest lifespan of a freed block, in the same unit.",
	  MW_TYPE_LIFE, -1, get_life_max },
	{ "location", "Location", "Ruby file and line, or native module with symbol and offset, "
	  "that called the allocator.",
	  MW_TYPE_TEXT, 1, get_location },
	{ "processes", "Processes", "Processes of the family that know the location; for a group, "
	  "those that know the one that most know.",
	  MW_TYPE_COUNT, -1, get_processes },
	{ "kind", "Kind", "What most of the live bytes are of, and how much of them; estimated from "
	  "samples, and empty if there is none.",
	  MW_TYPE_KIND, 1, get_kind },
	{ "kind_samples", "Samples", "Samples that the kind rests on.",
	  MW_TYPE_COUNT, -1, get_kind_samples },
};

const struct mw_column mw_overrun_columns[MW_OVERRUN_COLUMNS_N] = {
	{ "count", "Blocks", "Blocks allocated here that were found written past their end when they "
	  "were freed or reallocated, since the start.",
	  MW_TYPE_COUNT, -1, get_overruns },
	{ "last_size", "Last size", "Bytes asked for, of the last of them.",
	  MW_TYPE_BYTES, -1, get_overrun_size },
	{ "location", "Location", "Where they were allocated: Ruby file and line, or native module "
	  "with symbol and offset.",
	  MW_TYPE_TEXT, 1, get_location },
};
/* clang-format on */

int mw_table_find(const struct mw_table *t, const char *name, size_t len)
{
	for (int i = 0; i < t->n; i++)
		if (strlen(t->columns[i].name) == len && !memcmp(t->columns[i].name, name, len))
			return i;
	return -1;
}

int mw_column_find(const char *name, size_t len)
{
	const struct mw_table all = { mw_columns, MW_ALL_COLUMNS_N, MW_COLUMN_DEFAULT };

	if (len == 5 && !memcmp(name, "bytes", 5))
		return mw_table_find(&all, "total", 5);
	return mw_table_find(&all, name, len);
}

/* u / by with three decimals, rounded half up, without zeros at the end. */
static void add_ratio(struct mw_buf *b, uint64_t u, uint64_t by)
{
	u128 thousandths = ((u128)u * 1000 + by / 2) / by;
	unsigned rest = (unsigned)(thousandths % 1000);
	char d[4] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
		      (char)('0' + rest % 10) };
	size_t n = d[3] != '0' ? 4 : d[2] != '0' ? 3 : d[1] != '0' ? 2 : 0;

	/* it fits: by == 1 rounds nothing, and by > 1 gives at most u */
	mw_buf_u64(b, (uint64_t)(thousandths / 1000));
	mw_buf_add(b, d, n);
}

/* "string 92 %" */
static void add_kind(struct mw_buf *b, const struct mw_cell *c)
{
	mw_buf_str(b, c->s);
	mw_buf_str(b, " ");
	mw_buf_u64(b, (c->u + 5) / 10);
	mw_buf_str(b, " %");
}

void mw_cell_plain(struct mw_buf *b, const struct mw_cell *c)
{
	switch (c->kind) {
	case MW_CELL_UINT:
		mw_buf_u64(b, c->u);
		break;
	case MW_CELL_INT:
		mw_buf_i64(b, c->i);
		break;
	case MW_CELL_RATIO:
		add_ratio(b, c->u, c->by);
		break;
	case MW_CELL_TEXT:
		mw_buf_add(b, c->s, c->u);
		break;
	case MW_CELL_ADDRESS:
		mw_buf_fmt(b, "0x%" PRIx64, c->u);
		break;
	case MW_CELL_KIND:
		add_kind(b, c);
		break;
	case MW_CELL_NONE:
		break;
	}
}

void mw_cell_json(struct mw_buf *b, const struct mw_cell *c)
{
	if (c->kind == MW_CELL_NONE) {
		mw_buf_str(b, "null");
	} else if (c->kind == MW_CELL_TEXT) {
		mw_buf_json(b, c->s, c->u);
	} else {
		bool quoted = c->kind == MW_CELL_ADDRESS || c->kind == MW_CELL_KIND;

		mw_buf_str(b, quoted ? "\"" : "");
		mw_cell_plain(b, c);
		mw_buf_str(b, quoted ? "\"" : "");
	}
}

void mw_cell_whole(struct mw_buf *b, const struct mw_cell *c)
{
	switch (c->kind) {
	case MW_CELL_UINT:
		mw_buf_commas(b, c->u);
		break;
	case MW_CELL_INT:
		mw_buf_signed_commas(b, c->i);
		break;
	case MW_CELL_RATIO:
		mw_buf_commas(b, (uint64_t)(((u128)c->u + c->by / 2) / c->by));
		break;
	case MW_CELL_TEXT:
		mw_buf_add(b, c->s, c->u);
		break;
	case MW_CELL_ADDRESS:
		mw_buf_fmt(b, "0x%" PRIx64, c->u);
		break;
	case MW_CELL_KIND:
		add_kind(b, c);
		break;
	case MW_CELL_NONE:
		break;
	}
}
