/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "row_index.h"

#include <stdlib.h>

#include "report.h"

bool mw_row_index_make(struct mw_row_index *x, const struct mw_snapshot *s)
{
	*x = (struct mw_row_index){ 0 };
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].id != MW_ID_NONE && s->rows[i].id >= x->n)
			x->n = (size_t)s->rows[i].id + 1;
	x->row = calloc(x->n + 1, sizeof(*x->row));
	for (size_t i = 0; x->row && i < s->n; i++)
		if (s->rows[i].id != MW_ID_NONE)
			x->row[s->rows[i].id] = (uint32_t)i + 1;
	return x->row;
}

void mw_row_index_free(struct mw_row_index *x)
{
	free(x->row);
	*x = (struct mw_row_index){ 0 };
}
