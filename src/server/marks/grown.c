/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "grown.h"

#include <string.h>

#include "shared/report/row_index.h"
#include "shared/report/sums.h"

static int64_t change_of(const struct mw_curve *c)
{
	return mw_difference(c->bytes[c->n - 1], c->bytes[0]);
}

/* All live bytes at the first or the last moment. A curve that is shorter was among the rest at first. */
static uint64_t all_at(const struct mw_curve_set *set, bool last)
{
	uint64_t sum = set->rest_bytes[last ? set->rest_n - 1 : 0];

	for (size_t i = 0; i < set->n; i++) {
		const struct mw_curve *c = &set->v[i];

		if (last || c->n == set->rest_n)
			sum = mw_sum_u64(sum, c->bytes[last ? c->n - 1 : 0]);
	}
	return sum;
}

int mw_grown_read(struct mw_grown *g, const struct mw_curves *curves, const struct mw_api *api,
		  double from, double to)
{
	struct mw_curve_set *set = &g->set;

	*g = (struct mw_grown){ 0 };
	if (mw_curves_read(curves, api, from, to, set))
		return -1;
	if (!set->rest_n) {
		mw_grown_free(g);
		return 1;
	}
	g->from = set->rest_t[0];
	g->to = set->rest_t[set->rest_n - 1];
	g->total = mw_difference(all_at(set, true), all_at(set, false));
	return 0;
}

void mw_grown_free(struct mw_grown *g)
{
	mw_curves_free_set(&g->set);
	*g = (struct mw_grown){ 0 };
}

bool mw_grown_set(struct mw_snapshot *s, const void *ctx)
{
	const struct mw_grown *g = ctx;
	struct mw_row_index ids;

	if (!mw_row_index_make(&ids, s))
		return false;
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].growth = 0;
	for (size_t i = 0; i < g->set.n; i++) {
		const struct mw_curve *c = &g->set.v[i];
		uint32_t row = c->id == MW_ID_NONE ? 0 : mw_row_by_id(&ids, c->id);
		struct mw_row *r = row ? &s->rows[row - 1] : NULL;

		/* an id may have another tenant by now */
		if (r && r->location_len == c->location_len &&
		    !memcmp(r->location, c->location, c->location_len))
			r->growth = change_of(c);
	}
	mw_row_index_free(&ids);
	return true;
}

bool mw_grown_set_mark(struct mw_snapshot *s, const void *ctx)
{
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].growth = mw_mark_growth(ctx, &s->rows[i], mw_location_hash(&s->rows[i]));
	return true;
}

int64_t mw_grown_sum(const struct mw_snapshot *s)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum = mw_sum_i64(sum, s->rows[i].growth);
	return sum;
}
