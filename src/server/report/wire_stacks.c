/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire_stacks.c - the sampled stacks of one process for another. See wire.h.
 *
 * Texts come before the frames that have them, and these before the stacks. A stack names its
 * location by the number of its row.
 */
#include <stdlib.h>
#include <string.h>

#include "shared/text/intern.h"
#include "shared/report/row_index.h"
#include "wire.h"

static void put_stacks_field(struct mw_buf *b, uint64_t v)
{
	mw_buf_u64(b, v);
	mw_buf_str(b, "\t");
}

/* An estimate, rounded; NaN is 0. */
static void estimate(struct mw_buf *b, double v)
{
	put_stacks_field(b, v > 0 ? v < 1e18 ? (uint64_t)(v + 0.5) : (uint64_t)1e18 : 0);
}

/* Appends the text if it is new; returns its number. */
static uint32_t put_new_text(struct mw_buf *b, struct mw_intern *texts, const char *s)
{
	uint32_t known = texts->n, id = mw_intern_str(texts, s);

	if (texts->n > known) {
		mw_buf_str(b, "=");
		mw_buf_text(b, s, strlen(s));
		mw_buf_str(b, "\n");
	}
	return id;
}

/* Without an address, the reader couldn't tell it from a method in C. */
static const char *name_of_frame(const struct mw_stacked_frame *f)
{
	return !f->name ? "" : !*f->name && f->address ? "(native code)" : f->name;
}

static bool travels(const struct mw_stacked *k, const struct mw_row_index *ids)
{
	return mw_row_by_id(ids, k->id) && (k->depth || k->label) && (k->ever > 0 || k->objects > 0);
}

#define NONE UINT32_MAX

/* numbers[] get the frames' numbers at the reader's; NONE: no stack has it that travels. */
static void number_frames(const struct mw_stacks *s, const struct mw_row_index *ids, uint32_t *numbers)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->n_frames; i++)
		numbers[i] = NONE;
	for (size_t i = 0; i < s->n; i++) {
		if (!travels(&s->v[i], ids))
			continue;
		for (uint32_t k = 0; k < s->v[i].depth; k++)
			numbers[s->chain[s->v[i].first + k]] = 0;
		if (s->v[i].label)
			numbers[s->v[i].label] = 0;
	}
	for (size_t i = 0; i < s->n_frames; i++)
		if (!numbers[i])
			numbers[i] = n++;
}

static bool put_frames(struct mw_buf *b, const struct mw_stacks *s, const uint32_t *numbers)
{
	struct mw_intern texts = { 0 };
	bool ok;

	for (size_t i = 0; i < s->n_frames && !texts.failed; i++) {
		if (numbers[i] == NONE)
			continue;

		const struct mw_stacked_frame *f = &s->frames[i];
		uint32_t name = put_new_text(b, &texts, name_of_frame(f)),
			 file = put_new_text(b, &texts, f->file ? f->file : "");

		mw_buf_str(b, "@");
		put_stacks_field(b, f->kind);
		put_stacks_field(b, f->line);
		put_stacks_field(b, name);
		put_stacks_field(b, file);
		mw_buf_str(b, "\n");
	}
	ok = !texts.failed;
	mw_intern_free(&texts);
	return ok;
}

static void put_stack(struct mw_buf *b, const struct mw_stacks *s, const struct mw_stacked *k,
		      const struct mw_row_index *ids, const uint32_t *numbers)
{
	mw_buf_str(b, "#");
	put_stacks_field(b, mw_row_by_id(ids, k->id) - 1);
	estimate(b, k->bytes);
	estimate(b, k->blocks * MW_WIRE_BLOCKS);
	estimate(b, k->live_bytes);
	estimate(b, k->live_blocks * MW_WIRE_BLOCKS);
	put_stacks_field(b, k->samples);
	put_stacks_field(b, k->live_samples);
	estimate(b, k->born_bytes);
	put_stacks_field(b, k->born_samples);
	estimate(b, k->objects);
	estimate(b, k->object_bytes);
	put_stacks_field(b, k->object_samples);
	put_stacks_field(b, k->label ? numbers[k->label] + 1 : 0);
	for (uint32_t i = 0; i < k->depth; i++)
		put_stacks_field(b, numbers[s->chain[k->first + i]]);
	mw_buf_str(b, "\n");
}

/* The stacks of the rows of that table, and their frames. */
static bool put_stacks(struct mw_buf *b, const struct mw_stacks *s, const struct mw_snapshot *table)
{
	uint32_t *numbers = calloc(s->n_frames + 1, sizeof(*numbers));
	struct mw_row_index ids = { 0 };
	bool ok = numbers && mw_row_index_make(&ids, table);

	if (ok) {
		number_frames(s, &ids, numbers);
		ok = put_frames(b, s, numbers);
	}
	for (size_t i = 0; ok && i < s->n; i++)
		if (travels(&s->v[i], &ids))
			put_stack(b, s, &s->v[i], &ids, numbers);
	mw_row_index_free(&ids);
	free(numbers);
	return ok;
}

int mw_wire_put_stacks(struct mw_buf *b, const struct mw_api *api, const struct mw_profile_how *how,
		       void (*put_row)(struct mw_buf *, const struct mw_row *))
{
	/* first: a sample's allocation is in the table then */
	struct mw_stacks *s = api->stacks(how->from, how->to);
	struct mw_snapshot *table = api->snapshot();
	bool ok = s && table && (!how->set_growth || how->set_growth(table, how->ctx));

	for (size_t i = 0; ok && i < table->n; i++)
		put_row(b, &table->rows[i]);
	ok = ok && put_stacks(b, s, table);
	if (table)
		api->snapshot_free(table);
	if (s)
		api->stacks_free(s);
	return ok ? 0 : -1;
}

int mw_wire_put_stacks_at(struct mw_buf *b, const struct mw_api *api, const struct mw_row *row)
{
	struct mw_row copy = *row;
	struct mw_stacks *s = api->stacks(0, 0);
	bool ok = s && put_stacks(b, s, &(struct mw_snapshot){ .n = 1, .rows = &copy });

	if (s)
		api->stacks_free(s);
	return ok ? 0 : -1;
}
