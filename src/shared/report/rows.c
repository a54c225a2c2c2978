/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows.c - a query: choose, group, sort, cut to a page; with kinds of memory, or without.
 *
 * It works on copies only. Each row gets a 128-bit sort key once: comparing is
 * cheap for 10,000s of rows. Only the rows up to the end of the page are put in
 * order.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/sys/root.h"
#include "columns.h"
#include "kinded.h"
#include "report.h"
#include "sums.h"

__extension__ typedef unsigned __int128 u128;

struct item {
	uint64_t hi, lo; /* the column's value, in unsigned order */
	bool none;       /* no value: last in either order */
	const struct mw_row *row;
};

struct order {
	int numbers, ties; /* 1 ascending, -1 descending */
};

void mw_row_add(struct mw_row *sum, const struct mw_row *r)
{
	sum->total = mw_sum_u64(sum->total, r->total);
	sum->allocations = mw_sum_u64(sum->allocations, r->allocations);
	sum->frees = mw_sum_u64(sum->frees, r->frees);
	sum->freed = mw_sum_u64(sum->freed, r->freed);
	sum->life_sum = mw_sum_u64(sum->life_sum, r->life_sum);
	if (r->life_max > sum->life_max)
		sum->life_max = r->life_max;
	sum->growth = mw_sum_i64(sum->growth, r->growth);
	sum->live_bytes = mw_sum_u64(sum->live_bytes, r->live_bytes);
	sum->live = mw_sum_u64(sum->live, r->live);
	sum->fork_baseline.total = mw_sum_u64(sum->fork_baseline.total, r->fork_baseline.total);
	sum->fork_baseline.allocations =
		mw_sum_u64(sum->fork_baseline.allocations, r->fork_baseline.allocations);
	sum->fork_baseline.frees = mw_sum_u64(sum->fork_baseline.frees, r->fork_baseline.frees);
	sum->fork_baseline.freed = mw_sum_u64(sum->fork_baseline.freed, r->fork_baseline.freed);
	sum->fork_baseline.life_sum = mw_sum_u64(sum->fork_baseline.life_sum, r->fork_baseline.life_sum);
	sum->objects = mw_sum_u64(sum->objects, r->objects);
	sum->object_bytes = mw_sum_u64(sum->object_bytes, r->object_bytes);
	sum->peak_bytes = mw_sum_u64(sum->peak_bytes, r->peak_bytes);
	sum->live_samples = mw_sum_u64(sum->live_samples, r->live_samples);
	sum->live_variance = mw_sum_u64(sum->live_variance, r->live_variance);
	sum->object_samples = mw_sum_u64(sum->object_samples, r->object_samples);
	sum->object_variance = mw_sum_u64(sum->object_variance, r->object_variance);
	if (r->processes > sum->processes)
		sum->processes = r->processes;
	sum->overruns = mw_sum_u64(sum->overruns, r->overruns);
	if (r->overrun_size)
		sum->overrun_size = r->overrun_size;
	sum->wrong_sizes = mw_sum_u64(sum->wrong_sizes, r->wrong_sizes);
	if (r->wrong_sizes) {
		sum->asked_size = r->asked_size;
		sum->given_size = r->given_size;
	}
}

uint64_t mw_row_live_error(const struct mw_row *r)
{
	return (uint64_t)(2 * 1024 * mw_root((double)r->live_variance)); /* two standard deviations */
}

int mw_location_cmp(const struct mw_row *a, const struct mw_row *b)
{
	uint32_t n = a->location_len < b->location_len ? a->location_len : b->location_len;
	int c = n ? memcmp(a->location, b->location, n) : 0;

	if (c)
		return c;
	return (a->location_len > b->location_len) - (a->location_len < b->location_len);
}

/* --- choosing ------------------------------------------------------------- */

static bool contains(const char *s, size_t n, const struct mw_query *q)
{
	return memmem(s, n, q->q, q->q_len) != NULL;
}

static bool wanted_line(const struct mw_row *r, const struct mw_query *q, struct mw_buf *name)
{
	if (!q->q || !q->q_len || contains(r->location, r->location_len, q))
		return true;
	if (q->group == MW_GROUP_LINE)
		return false;
	name->n = 0;
	mw_group_name(name, r, q->group);
	return name->n && contains(name->p, name->n, q);
}

static bool wanted_kind(const struct mw_row *r, const struct mw_query *q)
{
	const char *kind = r->top_kind ? r->top_kind : MW_NO_STACK;

	return !q->kind_len || (strlen(kind) == q->kind_len && !strncasecmp(kind, q->kind, q->kind_len));
}

static bool wanted_size(const struct mw_row *r, const struct mw_query *q)
{
	if (q->table && q->table->size)
		return q->table->size(r) > q->min;
	return r->total > q->min || r->live_bytes > q->min || r->object_bytes > q->min;
}

/* Pointers to the matching ones of *n lines, malloc'ed; *n: how many. NULL: no memory. */
static const struct mw_row **choose_lines(const struct mw_row *all, const struct mw_query *q, size_t *n)
{
	size_t of = *n;
	const struct mw_row **lines = calloc(of + 1, sizeof(*lines));
	struct mw_buf name = { 0 };

	*n = 0;
	for (size_t i = 0; lines && i < of; i++) {
		const struct mw_row *r = &all[i];

		/* a group's size is known only after summing */
		if (q->group == MW_GROUP_LINE && !wanted_size(r, q))
			continue;
		if (wanted_kind(r, q) && wanted_line(r, q, &name))
			lines[(*n)++] = r;
	}
	if (name.failed) {
		free(lines);
		lines = NULL;
	}
	mw_buf_free(&name);
	return lines;
}

/* --- sorting -------------------------------------------------------------- */

static void set_key(struct item *it, const struct mw_row *r, const struct mw_column *column)
{
	struct mw_cell c = { 0 };

	it->row = r;
	it->hi = it->lo = 0;
	column->get(r, &c);
	it->none = c.kind == MW_CELL_NONE;
	switch (c.kind) {
	case MW_CELL_UINT:
	case MW_CELL_ADDRESS:
		it->hi = c.u;
		break;
	case MW_CELL_INT:
		it->hi = (uint64_t)c.i ^ (UINT64_C(1) << 63);
		break;
	case MW_CELL_RATIO:
		it->hi = c.u / c.by;
		it->lo = (uint64_t)(((u128)(c.u % c.by) << 64) / c.by);
		break;
	case MW_CELL_KIND: /* its first bytes, then the largest part first */
		for (size_t i = 0; i < 12 && c.s[i]; i++)
			*(i < 8 ? &it->hi : &it->lo) |=
				(uint64_t)(unsigned char)c.s[i] << (56 - i % 8 * 8);
		it->lo |= 1000 - c.u;
		break;
	case MW_CELL_TEXT: /* only the location is text: all are ties */
	case MW_CELL_NONE:
		break;
	}
}

/* <0, >0; 0 for the same row only: the order is total. */
static int by_order(const struct item *x, const struct item *y, const struct order *o)
{
	int c;

	if (x->none != y->none)
		return x->none ? 1 : -1;
	if (x->hi != y->hi)
		return x->hi < y->hi ? -o->numbers : o->numbers;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -o->numbers : o->numbers;
	c = mw_location_cmp(x->row, y->row);
	if (c)
		return c < 0 ? -o->ties : o->ties;
	return (x->row->id > y->row->id) - (x->row->id < y->row->id);
}

static int compare_items(const void *a, const void *b, void *o)
{
	return by_order(a, b, o);
}

/* Sinks the item at `at` to its place in a heap whose top is the last in order. */
static void sink(struct item *heap, size_t n, size_t at, const struct order *o)
{
	struct item it = heap[at];
	size_t below;

	while ((below = 2 * at + 1) < n) {
		if (below + 1 < n && by_order(&heap[below], &heap[below + 1], o) < 0)
			below++;
		if (by_order(&it, &heap[below], o) >= 0)
			break;
		heap[at] = heap[below];
		at = below;
	}
	heap[at] = it;
}

/*
 * The first `most` (<= n) of the rows in order, malloc'ed; NULL: no memory.
 * The best so far are a heap: for a few among many, each other row costs little
 * more than one comparison.
 */
static struct item *first(const struct mw_row *const *rows, size_t n, size_t most, const struct mw_query *q)
{
	const struct mw_table *table = q->table ? q->table : &mw_all_table;
	bool known = q->sort >= 0 && q->sort < table->n;
	const struct mw_column *column = &table->columns[known ? q->sort : table->sort];
	int sign = q->order ? q->order : column->order;
	struct order o = { sign < 0 ? -1 : 1, 1 };
	size_t kept = most > n / 4 ? n : most; /* for many, sorting all is as quick */
	struct item *items = calloc(kept + 1, sizeof(*items)), next;

	if (!items)
		return NULL;
	if (column->type == MW_TYPE_TEXT)
		o.ties = o.numbers;
	for (size_t i = 0; i < kept; i++)
		set_key(&items[i], rows[i], column);
	for (size_t i = kept < n ? kept / 2 : 0; i-- > 0;)
		sink(items, kept, i, &o);
	for (size_t i = kept; kept && i < n; i++) {
		set_key(&next, rows[i], column);
		if (by_order(&next, &items[0], &o) < 0) {
			items[0] = next;
			sink(items, kept, 0, &o);
		}
	}
	qsort_r(items, kept, sizeof(*items), compare_items, &o);
	return items;
}

/* Fills the sum, and the page as copies, from all matched rows. */
static int fill_page(struct mw_result *res, const struct mw_row *const *rows, size_t n,
		     const struct mw_query *q)
{
	size_t left = q->offset < n ? n - (size_t)q->offset : 0;
	struct item *items;

	res->n = q->limit && q->limit < left ? (size_t)q->limit : left;
	items = first(rows, n, res->n ? (size_t)q->offset + res->n : 0, q);
	if (!items)
		return -1;
	res->matched = n;
	for (size_t i = 0; i < n; i++)
		mw_row_add(&res->sum, rows[i]);
	res->rows = calloc(res->n + 1, sizeof(*res->rows));
	for (size_t i = 0; res->rows && i < res->n; i++)
		res->rows[i] = *items[(size_t)q->offset + i].row;
	free(items);
	return res->rows ? 0 : -1;
}

/* Sums the lines up by group, then fills from the groups that are large enough. */
static int fill_groups(struct mw_result *res, const struct mw_row **lines, size_t n,
		       const struct mw_query *q)
{
	struct mw_row *groups = mw_group_rows(lines, &n, q->group, &res->names, res->kinds);
	size_t chosen = 0;
	int rc;

	if (!groups)
		return -1;
	/* lines[] has room: there are no more groups than lines */
	for (size_t i = 0; i < n; i++) {
		if (wanted_size(&groups[i], q))
			lines[chosen++] = &groups[i];
	}
	rc = fill_page(res, lines, chosen, q);
	free(groups);
	return rc;
}

/* --- kinds ---------------------------------------------------------------- */

/* The snapshot, with its kinds if they are asked for and there is memory. False: no snapshot. */
static bool take_snapshot(struct mw_result *res, const struct mw_api *api, const struct mw_query *q)
{
	struct mw_stacks *s = q->kinds ? api->stacks(0, 0) : NULL; /* first: a sample is in the table then */
	struct mw_kinded *k = q->kinds ? calloc(1, sizeof(*k)) : NULL;

	res->snapshot = api->snapshot();
	if (res->snapshot && k && mw_kinded_make(k, res->snapshot, s))
		res->kinds = k;
	else
		free(k);
	if (s)
		api->stacks_free(s);
	return res->snapshot;
}

/* The kind of all these lines together. A group that is too small to be shown isn't in the sum. */
static void sum_kinds(struct mw_result *res, const struct mw_row *const *lines, size_t n,
		      const struct mw_query *q)
{
	bool all = q->group == MW_GROUP_LINE || !q->min;

	for (size_t i = 0; all && i < n; i++)
		mw_kinded_add(res->kinds, lines[i]);
	mw_kinded_end(res->kinds, &res->sum);
}

/* Fills the result from these lines. */
static int fill_from(struct mw_result *res, const struct mw_row *all, size_t n, const struct mw_query *q)
{
	const struct mw_row **lines = choose_lines(all, q, &n);
	int rc;

	if (!lines)
		return -1;
	if (res->kinds)
		sum_kinds(res, lines, n, q);
	if (q->group == MW_GROUP_LINE)
		rc = fill_page(res, lines, n, q);
	else
		rc = fill_groups(res, lines, n, q);
	free(lines);
	return rc;
}

static const struct mw_result no_result = {
	.sum = { .location = "", .id = MW_ID_NONE, .kind = MW_KIND_SPECIAL }
};

int mw_result_of(struct mw_result *res, const struct mw_row *rows, size_t n, const struct mw_query *q)
{
	int rc;

	*res = no_result;
	rc = fill_from(res, rows, n, q);
	if (rc)
		mw_result_free(res, NULL);
	return rc;
}

int mw_result_make(struct mw_result *res, const struct mw_api *api, const struct mw_query *q)
{
	struct mw_row *parts = NULL;
	size_t n;
	int rc = -1;

	*res = no_result;
	if (take_snapshot(res, api, q)) {
		/* with that, only parts of locations are asked for */
		if (res->kinds && (q->group == MW_GROUP_KIND || q->kind_len))
			parts = mw_kinded_split(res->kinds, &n);
		rc = parts ? fill_from(res, parts, n, q) :
			     fill_from(res, res->snapshot->rows, res->snapshot->n, q);
		free(parts);
	}
	if (rc)
		mw_result_free(res, api);
	return rc;
}

void mw_result_free(struct mw_result *res, const struct mw_api *api)
{
	if (res->kinds)
		mw_kinded_free(res->kinds);
	free(res->kinds);
	if (res->snapshot)
		api->snapshot_free(res->snapshot);
	free(res->rows);
	free(res->names);
	*res = (struct mw_result){ 0 };
}
