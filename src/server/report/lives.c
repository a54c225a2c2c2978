/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lives.c - the live allocations of one location, with summaries.
 *
 * The row's snapshot is taken just before the lives: the numbers may differ by
 * allocations and frees in between.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "shared/report/report.h"
#include "shared/text/json.h"

const struct mw_live_column mw_live_columns[MW_LIVE_COLUMNS_N] = {
	{ "size", "Size", "Bytes asked for." },
	{ "generation", "Generation",
	  "When it was allocated: the count of garbage collections "
	  "(without Ruby: of bytes allocated) at that time." },
	{ "age", "Age", "Generations since then." },
	{ "address", "Address", "Where the block is in the process's memory." },
};

uint64_t mw_live_age(const struct mw_at *at, const struct mw_live *l)
{
	return at->stats.generation > l->generation ? at->stats.generation - l->generation : 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct mw_live *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation > y->generation ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* 0 for 0, 1 for 1, 2 for 2-3, 3 for 4-7, ... 64 */
static unsigned bucket_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static void count_in(struct mw_bucket *buckets, uint64_t v, uint64_t bytes)
{
	struct mw_bucket *k = &buckets[bucket_of(v)];

	k->count++;
	if (__builtin_add_overflow(k->bytes, bytes, &k->bytes))
		k->bytes = UINT64_MAX;
}

/* Sets the ranges and moves the buckets in use to the front; returns their number. */
static size_t close_up(struct mw_bucket *buckets)
{
	size_t n = 0;

	for (unsigned i = 0; i < MW_BUCKETS_MAX; i++) {
		struct mw_bucket k = buckets[i];

		if (!k.count)
			continue;
		k.from = i ? UINT64_C(1) << (i - 1) : 0;
		k.to = i ? k.from + (k.from - 1) : 0;
		buckets[n++] = k;
	}
	return n;
}

static int fill_at(struct mw_at *at, const struct mw_api *api, const char *location, size_t len)
{
	int is;

	at->snapshot = api->snapshot();
	if (!at->snapshot)
		return -1;
	is = mw_location_look(at->snapshot, location, len, &at->row);
	if (is)
		return is;
	at->lives = api->lives(&at->row->id, 1);
	if (!at->lives)
		return -1;
	api->stats(&at->stats);
	if (at->lives->n)
		qsort(at->lives->v, at->lives->n, sizeof(*at->lives->v), newest_first);
	for (size_t i = 0; i < at->lives->n; i++) {
		const struct mw_live *l = &at->lives->v[i];

		count_in(at->by_size, l->size, l->size);
		count_in(at->by_age, mw_live_age(at, l), l->size);
	}
	at->n_size = close_up(at->by_size);
	at->n_age = close_up(at->by_age);
	return 0;
}

int mw_at_make(struct mw_at *at, const struct mw_api *api, const char *location, size_t len)
{
	int rc;

	*at = (struct mw_at){ 0 };
	rc = fill_at(at, api, location, len);
	if (rc)
		mw_at_free(at, api);
	return rc;
}

void mw_at_free(struct mw_at *at, const struct mw_api *api)
{
	if (at->lives)
		api->lives_free(at->lives);
	if (at->snapshot)
		api->snapshot_free(at->snapshot);
	*at = (struct mw_at){ 0 };
}

/* --- forms ---------------------------------------------------------------- */

static void put_live_lines(struct mw_buf *b, const struct mw_at *at, char between, const char *end)
{
	for (size_t c = 0; c < MW_LIVE_COLUMNS_N; c++) {
		mw_buf_add(b, &between, c ? 1 : 0);
		mw_buf_str(b, mw_live_columns[c].name);
	}
	mw_buf_str(b, end);
	for (size_t i = 0; i < at->lives->n; i++) {
		const struct mw_live *l = &at->lives->v[i];

		mw_buf_fmt(b, "%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "%c0x%" PRIxPTR "%s", l->size,
			   between, l->generation, between, mw_live_age(at, l), between, l->addr, end);
	}
}

static void json_buckets(struct mw_buf *b, const char *name, const struct mw_bucket *k, size_t n)
{
	mw_json_open(b, name, '[');
	for (size_t i = 0; i < n; i++) {
		mw_json_open(b, NULL, '{');
		mw_json_u64(b, "from", k[i].from);
		mw_json_u64(b, "to", k[i].to);
		mw_json_u64(b, "count", k[i].count);
		mw_json_u64(b, "bytes", k[i].bytes);
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, "]");
}

static void json_live(struct mw_buf *b, const struct mw_at *at, const struct mw_live *l)
{
	mw_json_open(b, "\n", '{');
	mw_json_u64(b, "size", l->size);
	mw_json_u64(b, "generation", l->generation);
	mw_json_u64(b, "age", mw_live_age(at, l));
	mw_json_address(b, "address", l->addr);
	mw_buf_str(b, "}");
}

void mw_render_at_part(struct mw_buf *b, const struct mw_at *at, uint64_t limit, uint64_t oldest,
		       const struct mw_buf *more)
{
	size_t n = at->lives->n, newest = limit && limit < n ? (size_t)limit : n;
	size_t last = oldest < n ? (size_t)oldest : n;

	mw_buf_str(b, "{");
	mw_json_row(b, at->row);
	mw_json_u64(b, "\ngeneration", at->stats.generation);
	mw_json_str(b, "life_unit", at->stats.life_unit ? at->stats.life_unit : "");
	json_buckets(b, "\nby_size", at->by_size, at->n_size);
	json_buckets(b, "\nby_age", at->by_age, at->n_age);
	mw_json_open(b, "\nlives", '[');
	for (size_t i = 0; i < newest; i++)
		json_live(b, at, &at->lives->v[i]);
	if (oldest) {
		mw_buf_str(b, "]");
		mw_json_open(b, "\noldest", '[');
		for (size_t i = 0; i < last; i++)
			json_live(b, at, &at->lives->v[n - 1 - i]);
	}
	mw_buf_str(b, "]");
	if (more && more->n)
		mw_buf_add(b, more->p, more->n);
	b->failed |= more && more->failed;
	mw_buf_str(b, "}\n");
}

void mw_render_at(struct mw_buf *b, const struct mw_at *at, enum mw_format format)
{
	switch (format) {
	case MW_FORMAT_TEXT:
	case MW_FORMAT_TSV:
		put_live_lines(b, at, '\t', "\n");
		break;
	case MW_FORMAT_CSV:
		put_live_lines(b, at, ',', "\r\n");
		break;
	case MW_FORMAT_JSON:
		mw_render_at_part(b, at, 0, 0, NULL);
		break;
	}
}
