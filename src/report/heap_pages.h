/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_pages.h - Ruby's heap pages: the live ones, and how long they and the
 * dead ones last, from a copy that the tracker makes.
 *
 * As report.h: reads through `struct mw_api` only, allocates, and is used by
 * the exit dump, the server and the Ruby extension. Two tables say what there
 * is: figures of all pages, and the columns of one page. Every form comes from
 * these.
 */
#ifndef MW_REPORT_HEAP_PAGES_H
#define MW_REPORT_HEAP_PAGES_H

#include "columns.h"
#include "report.h"

/* One number of all pages. */
struct mw_heap_figure {
	const char *name;  /* in JSON and the text dump, and as Ruby's HeapPageBody.stat has it */
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

/* All pages, oldest first, ties by address; those that are shown begin at `from`. */
struct mw_heap_list {
	struct mw_heap *heap; /* owned */
	size_t from, n;       /* from + n <= heap->n */
};

/* limit: at most so many are shown, 0: all. 0, or -1 when there is no memory; then *list is all zero. */
int mw_heap_list_make(struct mw_heap_list *, const struct mw_api *, uint64_t offset, uint64_t limit);
void mw_heap_list_free(struct mw_heap_list *, const struct mw_api *); /* all zero again */

/*
 * TSV and CSV: the columns, one row for each page shown. JSON: an object with
 * the figures (null for what nothing is known of), generation (now), and
 * rows. Text: see next, with both.
 */
void mw_render_heap(struct mw_buf *, const struct mw_heap_list *, enum mw_format);

/*
 * What the text dump has below its table, by bits of `mask` (MW_DUMP_HEAP_...):
 * "%16s %12s (heap pages)", name and value of each figure, then
 * "%16s %12s (heap page)", address and generation of each page.
 */
void mw_render_heap_text(struct mw_buf *, const struct mw_heap_list *, unsigned mask);

#endif
