/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_page_rows.h - Ruby's heap pages: the live ones, and the lifespans of these
 * and of the dead ones, from a copy that the tracker makes.
 *
 * As report.h: it reads through `struct mw_api` only, allocates, and serves
 * the exit dump, the server and the Ruby extension. Every form comes from two
 * tables: the figures of all pages, and the columns of one page.
 */
#pragma once

#include "columns.h"
#include "report.h"

/* One number of all pages. */
struct mw_heap_figure {
	const char *name;  /* in JSON, in the text dump and in Ruby's HeapPageBody.stat */
	const char *title; /* for people, short */
	const char *about; /* one sentence, plain text */
	void (*get)(const struct mw_heap_sums *, struct mw_cell *);
};
#define MW_HEAP_FIGURES_N 13
extern const struct mw_heap_figure mw_heap_figures[MW_HEAP_FIGURES_N];

/* address, generation, age, bytes */
struct mw_heap_column {
	const char *name, *title, *about;
	void (*get)(const struct mw_heap *, const struct mw_heap_page *, struct mw_cell *);
};
#define MW_HEAP_COLUMNS_N 4
extern const struct mw_heap_column mw_heap_columns[MW_HEAP_COLUMNS_N];

/* All pages, oldest first, ties by address; the shown ones begin at `from`. */
struct mw_heap_list {
	struct mw_heap *heap; /* owned */
	size_t from, n;       /* from + n <= heap->n */
};

/* limit: the most that are shown, 0: all. 0, or -1: no memory, and *list is all zero. */
int mw_heap_list_make(struct mw_heap_list *, const struct mw_api *, uint64_t offset, uint64_t limit);
void mw_heap_list_free(struct mw_heap_list *, const struct mw_api *); /* all zero again */

/*
 * TSV and CSV: the columns, one row for each page shown. JSON: an object with
 * the figures (null: not known), generation (now), and rows. Text: as
 * mw_render_heap_text() with both bits.
 */
void mw_render_heap(struct mw_buf *, const struct mw_heap_list *, enum mw_format);

/*
 * The lines below the text dump's table, by bits of `mask` (MW_DUMP_HEAP_...):
 * "%16s %12s (heap pages)", name and value of each figure, then
 * "%16s %12s (heap page)", address and generation of each page.
 */
void mw_render_heap_text(struct mw_buf *, const struct mw_heap_list *, unsigned mask);
