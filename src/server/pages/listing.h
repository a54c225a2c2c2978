/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listing.h - shared by the pages of rows that can be sorted, grouped and filtered: /each and /diff.
 * Functions for slots of a template take a struct mw_listing as their ctx.
 */
#pragma once

#include "shared/report/columns.h"
#include "pages.h"

struct mw_listing {
	struct mw_call *call;
	const struct mw_table *table;
	struct mw_query q;
	struct mw_result result; /* owned */
	/* Appends the page's path and its own parameters; true: there were some. */
	bool (*address)(struct mw_buf *, const struct mw_listing *, const struct mw_query *, enum mw_form);
};

int mw_listing_sort(const struct mw_listing *);  /* the column that it is sorted by */
int mw_listing_order(const struct mw_listing *); /* < 0: most first */
/* href="..." of the page for *q; forms other than HTML go without limit and offset. */
void mw_listing_href(struct mw_buf *, const struct mw_listing *, const struct mw_query *, enum mw_form);
/* A header links to the table by its column; the present column's reverses the order. */
void mw_listing_header(struct mw_buf *, const struct mw_listing *, int column);
/* The last words of a caption: ", by total, most first" */
void mw_listing_by(struct mw_buf *, const struct mw_listing *);
/* The last cell of the row of sums. */
void mw_listing_sum(struct mw_buf *, const struct mw_listing *);

/* Slots */
void mw_listing_range(struct mw_buf *, void *ctx); /* " 1–100 of 4,812", if there are rows */
void mw_listing_pager(struct mw_buf *, void *ctx);
void mw_listing_q(struct mw_buf *, void *ctx);
void mw_listing_limit(struct mw_buf *, void *ctx);
void mw_listing_groups(struct mw_buf *, void *ctx);  /* options, with kinds if the query has them */
void mw_listing_hidden(struct mw_buf *, void *ctx);  /* fields: the form keeps the order */
void mw_listing_exports(struct mw_buf *, void *ctx); /* links */
