/* SPDX-License-Identifier: GPL-2.0-or-later */
/* row_index.h - the rows of a snapshot by their locations' ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mw_snapshot;

struct mw_row_index {
	uint32_t *row; /* owned; the row's number plus 1, by id; 0: no row has that id */
	size_t n;
};

/* False: no memory. Free with mw_row_index_free. */
bool mw_row_index_make(struct mw_row_index *, const struct mw_snapshot *);
void mw_row_index_free(struct mw_row_index *); /* all zero again */

/* The row's number plus 1, or 0. */
static inline uint32_t mw_row_by_id(const struct mw_row_index *x, uint32_t id)
{
	return id < x->n ? x->row[id] : 0;
}
