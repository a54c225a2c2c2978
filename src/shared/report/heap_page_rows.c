/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap_page_rows.h"
#include "shared/text/json.h"

#include <stdlib.h>

/* --- figures ---------------------------------------------------------------- */

static void get_uint(struct mw_cell *c, uint64_t v)
{
	c->kind = MW_CELL_UINT;
	c->u = v;
}

/* A figure that needs at least one span, such as the least one; else the cell stays NONE. */
static void get_of_some(struct mw_cell *c, const struct mw_spans *s, uint64_t v)
{
	if (s->n)
		get_uint(c, v);
}

static void get_mean(struct mw_cell *c, const struct mw_spans *s)
{
	c->kind = s->n ? MW_CELL_RATIO : MW_CELL_NONE;
	c->u = s->sum;
	c->by = s->n;
}

static void get_stddev(struct mw_cell *c, const struct mw_spans *s)
{
	c->kind = s->n ? MW_CELL_RATIO : MW_CELL_NONE;
	c->u = (uint64_t)(s->stddev * 1000 + 0.5);
	c->by = 1000;
}

#define GET(name, what)                                                               \
	static void get_##name(const struct mw_heap_sums *sums, struct mw_cell *cell) \
	{                                                                             \
		what;                                                                 \
	}
GET(pages, get_uint(cell, sums->pages))
GET(bytes, get_uint(cell, sums->bytes))
GET(lost, get_uint(cell, sums->lost))
GET(deaths, get_uint(cell, sums->lives.n))
GET(lifespan_max, get_of_some(cell, &sums->lives, sums->lives.max))
GET(lifespan_min, get_of_some(cell, &sums->lives, sums->lives.min))
GET(lifespan_mean, get_mean(cell, &sums->lives))
GET(lifespan_stddev, get_stddev(cell, &sums->lives))
GET(resurrects, get_uint(cell, sums->deaths.n))
GET(deathspan_max, get_of_some(cell, &sums->deaths, sums->deaths.max))
GET(deathspan_min, get_of_some(cell, &sums->deaths, sums->deaths.min))
GET(deathspan_mean, get_mean(cell, &sums->deaths))
GET(deathspan_stddev, get_stddev(cell, &sums->deaths))

/* clang-format off */
const struct mw_heap_figure mw_heap_figures[MW_HEAP_FIGURES_N] = {
	{ "pages", "Live pages", "Pages that Ruby has now, as GC.stat(:heap_allocated_pages).", get_pages },
	{ "bytes", "Bytes", "Their size, which is in no location.", get_bytes },
	{ "deaths", "Deaths", "Pages that Ruby gave back, as GC.stat(:total_freed_pages).", get_deaths },
	{ "lifespan_max", "Longest life", "Garbage collections from a page's birth to its death, "
	  "of those that died; pages that die are what was fragmented, or a peak.", get_lifespan_max },
	{ "lifespan_min", "Shortest life", "The shortest of them.", get_lifespan_min },
	{ "lifespan_mean", "Mean life", "Their mean.", get_lifespan_mean },
	{ "lifespan_stddev", "Deviation of lives", "Their standard deviation.", get_lifespan_stddev },
	{ "resurrects", "Resurrections", "Pages that were born where one had died.", get_resurrects },
	{ "deathspan_max", "Longest death", "Garbage collections between that death and that birth.",
	  get_deathspan_max },
	{ "deathspan_min", "Shortest death", "The shortest of them.", get_deathspan_min },
	{ "deathspan_mean", "Mean death", "Their mean.", get_deathspan_mean },
	{ "deathspan_stddev", "Deviation of deaths", "Their standard deviation.", get_deathspan_stddev },
	{ "lost", "Not recorded", "Pages for which the tracker had no memory: they are in no other number.",
	  get_lost },
};
/* clang-format on */

/* --- columns ---------------------------------------------------------------- */

static void get_address(const struct mw_heap *h, const struct mw_heap_page *p, struct mw_cell *c)
{
	(void)h;
	c->kind = MW_CELL_ADDRESS;
	c->u = p->addr;
}

static void get_generation(const struct mw_heap *h, const struct mw_heap_page *p, struct mw_cell *c)
{
	(void)h;
	get_uint(c, p->generation);
}

static void get_age(const struct mw_heap *h, const struct mw_heap_page *p, struct mw_cell *c)
{
	get_uint(c, h->generation > p->generation ? h->generation - p->generation : 0);
}

static void get_page_bytes(const struct mw_heap *h, const struct mw_heap_page *p, struct mw_cell *c)
{
	(void)h;
	get_uint(c, p->bytes);
}

const struct mw_heap_column mw_heap_columns[MW_HEAP_COLUMNS_N] = {
	{ "address", "Address", "Where the page is in the process's memory.", get_address },
	{ "generation", "Generation", "When it was born: the count of garbage collections at that time.",
	  get_generation },
	{ "age", "Age", "Garbage collections since then.", get_age },
	{ "bytes", "Bytes", "Its size.", get_page_bytes },
};

/* --- the list --------------------------------------------------------------- */

static int oldest_first(const void *a, const void *b)
{
	const struct mw_heap_page *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

int mw_heap_list_make(struct mw_heap_list *l, const struct mw_api *api, uint64_t offset, uint64_t limit)
{
	*l = (struct mw_heap_list){ .heap = api->heap() };
	if (!l->heap)
		return -1;
	if (l->heap->n)
		qsort(l->heap->v, l->heap->n, sizeof(*l->heap->v), oldest_first);
	l->from = offset < l->heap->n ? (size_t)offset : l->heap->n;
	l->n = l->heap->n - l->from;
	if (limit && limit < l->n)
		l->n = (size_t)limit;
	return 0;
}

void mw_heap_list_free(struct mw_heap_list *l, const struct mw_api *api)
{
	if (l->heap)
		api->heap_free(l->heap);
	*l = (struct mw_heap_list){ 0 };
}

/* --- forms ------------------------------------------------------------------ */

static void put_heap_lines(struct mw_buf *b, const struct mw_heap_list *l, const char *between,
			   const char *end)
{
	for (int c = 0; c < MW_HEAP_COLUMNS_N; c++) {
		mw_buf_str(b, c ? between : "");
		mw_buf_str(b, mw_heap_columns[c].name);
	}
	mw_buf_str(b, end);
	for (size_t i = 0; i < l->n; i++) {
		for (int c = 0; c < MW_HEAP_COLUMNS_N; c++) {
			struct mw_cell cell = { 0 };

			mw_heap_columns[c].get(l->heap, &l->heap->v[l->from + i], &cell);
			mw_buf_str(b, c ? between : "");
			mw_cell_plain(b, &cell);
		}
		mw_buf_str(b, end);
	}
}

static void put_heap_json(struct mw_buf *b, const struct mw_heap_list *l)
{
	mw_buf_str(b, "{");
	for (int f = 0; f < MW_HEAP_FIGURES_N; f++) {
		struct mw_cell cell = { 0 };

		mw_heap_figures[f].get(&l->heap->sums, &cell);
		mw_json_key(b, "\n");
		mw_json_key(b, mw_heap_figures[f].name);
		mw_cell_json(b, &cell);
	}
	mw_json_u64(b, "\ngeneration", l->heap->generation);
	mw_json_open(b, "\nrows", '[');
	for (size_t i = 0; i < l->n; i++) {
		mw_json_open(b, "\n", '{');
		for (int c = 0; c < MW_HEAP_COLUMNS_N; c++) {
			struct mw_cell cell = { 0 };

			mw_heap_columns[c].get(l->heap, &l->heap->v[l->from + i], &cell);
			mw_json_key(b, mw_heap_columns[c].name);
			mw_cell_json(b, &cell);
		}
		mw_buf_str(b, "}");
	}
	mw_buf_str(b, l->n ? "\n]\n}\n" : "]\n}\n");
}

/* Appends a word, right-aligned. */
static void padded(struct mw_buf *b, const struct mw_buf *word, size_t width)
{
	static const char spaces[] = "                    ";

	mw_buf_add(b, spaces, word->n < width ? width - word->n : 0);
	mw_buf_add(b, word->p, word->n);
}

/* Neither column may be a number that adds up with the table above. */
static void text_line(struct mw_buf *b, const struct mw_buf *first, const struct mw_cell *value,
		      const char *what)
{
	struct mw_buf word = { 0 };

	padded(b, first, 16);
	mw_buf_str(b, " ");
	mw_cell_plain(&word, value);
	if (!word.n)
		mw_buf_str(&word, "-");
	padded(b, &word, 12);
	b->failed |= word.failed;
	mw_buf_free(&word);
	mw_buf_str(b, what);
}

void mw_render_heap_text(struct mw_buf *b, const struct mw_heap_list *l, unsigned mask)
{
	struct mw_buf first = { 0 };

	for (int f = 0; f < MW_HEAP_FIGURES_N && mask & MW_DUMP_HEAP_FIGURES; f++) {
		struct mw_cell value = { 0 };

		first.n = 0;
		mw_buf_str(&first, mw_heap_figures[f].name);
		mw_heap_figures[f].get(&l->heap->sums, &value);
		text_line(b, &first, &value, " (heap pages)\n");
	}
	for (size_t i = 0; i < l->n && mask & MW_DUMP_HEAP_PAGES; i++) {
		struct mw_cell address = { 0 }, generation = { 0 };

		first.n = 0;
		get_address(l->heap, &l->heap->v[l->from + i], &address);
		get_generation(l->heap, &l->heap->v[l->from + i], &generation);
		mw_cell_plain(&first, &address);
		text_line(b, &first, &generation, " (heap page)\n");
	}
	b->failed |= first.failed;
	mw_buf_free(&first);
}

void mw_render_heap(struct mw_buf *b, const struct mw_heap_list *l, enum mw_format format)
{
	switch (format) {
	case MW_FORMAT_TEXT:
		mw_render_heap_text(b, l, MW_DUMP_HEAP_FIGURES | MW_DUMP_HEAP_PAGES);
		break;
	case MW_FORMAT_TSV:
		put_heap_lines(b, l, "\t", "\n");
		break;
	case MW_FORMAT_CSV:
		put_heap_lines(b, l, ",", "\r\n");
		break;
	case MW_FORMAT_JSON:
		put_heap_json(b, l);
		break;
	}
}
