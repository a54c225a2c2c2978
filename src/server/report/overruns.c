/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overruns.c - the locations of blocks written past their end, or freed with a wrong size. See report.h. */
#include <stdlib.h>

#include "shared/report/report.h"

static int most_first(const void *a, const void *b)
{
	const struct mw_row *x = *(const struct mw_row *const *)a;
	const struct mw_row *y = *(const struct mw_row *const *)b;

	if (x->overruns != y->overruns)
		return x->overruns > y->overruns ? -1 : 1;
	if (x->wrong_sizes != y->wrong_sizes)
		return x->wrong_sizes > y->wrong_sizes ? -1 : 1;
	return mw_location_cmp(x, y);
}

int mw_overruns_make(struct mw_overruns_list *l, const struct mw_api *api, const struct mw_stats *stats)
{
	*l = (struct mw_overruns_list){ .stats = *stats };
	l->snapshot = api->snapshot();
	if (l->snapshot)
		l->rows = calloc(l->snapshot->n + 1, sizeof(*l->rows));
	if (!l->rows) {
		mw_overruns_free(l, api);
		return -1;
	}
	for (size_t i = 0; i < l->snapshot->n; i++)
		if (l->snapshot->rows[i].overruns || l->snapshot->rows[i].wrong_sizes)
			l->rows[l->n++] = &l->snapshot->rows[i];
	qsort(l->rows, l->n, sizeof(*l->rows), most_first);
	return 0;
}

void mw_overruns_free(struct mw_overruns_list *l, const struct mw_api *api)
{
	if (l->snapshot)
		api->snapshot_free(l->snapshot);
	free(l->rows);
	*l = (struct mw_overruns_list){ 0 };
}
