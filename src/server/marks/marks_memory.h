/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks_memory.h - the memory of the named marks (marks.h), in pages, and streams of numbers in it.
 *
 * It comes from the tracker (mw_api.keep), MW_MARKS_SLAB bytes at a time, and is never given back. So
 * pages are used again. The ceiling memory_max may leave less than MW_MARKS_SLABS of them. Pages
 * aren't zeroed. The owner of the marks makes all calls.
 */
#pragma once

#include "shared/report/report.h"

enum {
	MW_MARKS_PAGE = 4096,
	MW_MARKS_SLAB = 16 * MW_MARKS_PAGE,
	MW_MARKS_SLABS = 256 /* 16 MiB */
};

struct mw_marks_memory {
	uint32_t begun; /* pages that were handed out before; those behind them are fresh */
	uint32_t out;   /* pages that are handed out now */
	void *free;     /* pages that came back; each points to the next one */
	uint32_t slabs_n;
	char *slabs[MW_MARKS_SLABS];
};

/* All pages are free again. In a forked child, too, whatever the parent did meanwhile. */
void mw_marks_memory_start(struct mw_marks_memory *);
/* NULL: there is none. */
void *mw_marks_page(struct mw_marks_memory *, const struct mw_api *);
void mw_marks_page_free(struct mw_marks_memory *, void *);

/* Numbers one behind the other; small ones take a byte. All zero: empty. */
struct mw_marks_stream {
	struct mw_marks_link *first, *last;
	uint32_t bytes;
	bool failed; /* there was no page: it lacks something, so only mw_marks_stream_free may follow */
};
void mw_marks_put(struct mw_marks_stream *, struct mw_marks_memory *, const struct mw_api *, uint64_t);
/* A number that may be negative, as wrapping subtraction gives it. */
void mw_marks_put_signed(struct mw_marks_stream *, struct mw_marks_memory *, const struct mw_api *,
			 uint64_t);
void mw_marks_stream_free(struct mw_marks_stream *, struct mw_marks_memory *); /* all zero again */

struct mw_marks_reader {
	const struct mw_marks_link *link;
	uint32_t at, left;
};
struct mw_marks_reader mw_marks_read_from(const struct mw_marks_stream *);
/* False: the end. */
bool mw_marks_get(struct mw_marks_reader *, uint64_t *);
bool mw_marks_get_signed(struct mw_marks_reader *, uint64_t *);
