/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "columns.h"
#include "report.h"
#include "shared/sys/root.h"

__extension__ typedef unsigned __int128 u128;

#define GET_UINT(name, field)                                             \
	static void get_##name(const struct mw_row *r, struct mw_cell *c) \
	{                                                                 \
		c->kind = MW_CELL_UINT;                                   \
		c->u = r->field;                                          \
	}
GET_UINT(total, total)
GET_UINT(allocations, allocations)
GET_UINT(frees, frees)
GET_UINT(live_bytes, live_bytes)
GET_UINT(live, live)
GET_UINT(peak_bytes, peak_bytes)
GET_UINT(max_life, life_max)
GET_UINT(objects, objects)
GET_UINT(object_bytes, object_bytes)
GET_UINT(object_samples, object_samples)
GET_UINT(live_samples, live_samples)
GET_UINT(processes, processes)
GET_UINT(kind_samples, kind_samples)
GET_UINT(samples, kind_samples)
GET_UINT(count, overruns)
GET_UINT(last_size, overrun_size)
GET_UINT(wrong_sizes, wrong_sizes)
GET_UINT(asked_size, asked_size)
GET_UINT(given_size, given_size)

/* Per cent: two standard deviations of what has this variance. */
static uint64_t per_cent_off(uint64_t variance, double of)
{
	return (uint64_t)(200 * mw_root((double)variance) / of + 0.5);
}

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

static void get_live_error(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = r->live_bytes || !r->live_samples ? MW_CELL_UINT : MW_CELL_NONE;
	if (r->live_samples && r->live_bytes)
		c->u = per_cent_off(r->live_variance, (double)r->live_bytes / 1024);
}

static void get_object_error(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = r->objects ? MW_CELL_UINT : MW_CELL_NONE;
	if (r->objects) /* two standard deviations */
		c->u = per_cent_off(r->object_variance, (double)r->objects);
}

static void get_kind(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = r->top_share ? MW_CELL_KIND : MW_CELL_NONE;
	c->s = r->top_kind;
	c->u = r->top_share;
}

const struct mw_column mw_columns[MW_ALL_COLUMNS_N] = {
#define COLUMN(name, tables, type, order, room, title, about) \
	{ #name, title, about, MW_TYPE_##type, order, room, get_##name },
#include "api/columns.def"
#undef COLUMN
};

/* The counts rest on the order of the list. */
#define EVERY_END MW_COLUMNS_N
#define FAMILY_END MW_FAMILY_COLUMNS_N
#define KINDS_END MW_ALL_COLUMNS_N
#define COLUMN(name, tables, type, order, room, title, about)     \
	_Static_assert((int)MW_COLUMN_##name < (int)tables##_END, \
		       #name ": EVERY comes before FAMILY, and that before KINDS");
#include "api/columns.def"
#undef COLUMN

const struct mw_column mw_overrun_columns[MW_OVERRUN_COLUMNS_N] = {
#define OVERRUN_COLUMN(name, type, order, title, about) \
	{ #name, title, about, MW_TYPE_##type, order, 0, get_##name },
#include "api/columns.def"
#undef OVERRUN_COLUMN
};

#define get_label get_location
const struct mw_column mw_label_columns[MW_LABEL_COLUMNS_N] = {
#define LABEL_COLUMN(name, type, order, title, about) \
	{ #name, title, about, MW_TYPE_##type, order, 0, get_##name },
#include "api/columns.def"
#undef LABEL_COLUMN
};
const struct mw_table mw_label_table = { mw_label_columns, MW_LABEL_COLUMNS_N,
					 MW_LABEL_COLUMN_live_bytes, NULL };

int mw_table_find(const struct mw_table *t, const char *name, size_t len)
{
	for (int i = 0; i < t->n; i++)
		if (strlen(t->columns[i].name) == len && !memcmp(t->columns[i].name, name, len))
			return i;
	return -1;
}

const struct mw_table mw_all_table = {
	.columns = mw_columns, .n = MW_ALL_COLUMNS_N, .sort = MW_COLUMN_DEFAULT
};

int mw_column_find(const char *name, size_t len)
{
	if (len == 5 && !memcmp(name, "bytes", 5))
		return mw_table_find(&mw_all_table, "total", 5);
	return mw_table_find(&mw_all_table, name, len);
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

uint64_t mw_cell_rounded(const struct mw_cell *c)
{
	return (uint64_t)(((u128)c->u + c->by / 2) / c->by);
}

void mw_cell_whole(struct mw_buf *b, const struct mw_cell *c)
{
	if (c->kind == MW_CELL_UINT)
		mw_buf_commas(b, c->u);
	else if (c->kind == MW_CELL_INT)
		mw_buf_signed_commas(b, c->i);
	else if (c->kind == MW_CELL_RATIO)
		mw_buf_commas(b, mw_cell_rounded(c));
	else
		mw_cell_plain(b, c);
}
