/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mark.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shared/report/sums.h"

uint64_t mw_location_hash(const struct mw_row *r)
{
	uint64_t h = XXH3_64bits(r->location, r->location_len);

	return h ? h : 1;
}

size_t mw_ids_end(const struct mw_snapshot *s, size_t n)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].id < MW_ID_END && s->rows[i].id >= n)
			n = (size_t)s->rows[i].id + 1;
	return n;
}

int mw_mark_set(struct mw_mark *m, const struct mw_snapshot *s, double uptime)
{
	size_t n = mw_ids_end(s, 0);
	struct mw_mark_base *base = calloc(n + 1, sizeof(*base));

	if (!base)
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		const struct mw_row *r = &s->rows[i];

		if (r->id < n)
			base[r->id] = (struct mw_mark_base){ mw_location_hash(r), r->live_bytes };
	}
	free(m->base);
	m->base = base;
	m->n = n;
	m->at = uptime;
	m->set = true;
	m->turns++;
	return 0;
}

void mw_mark_clear(struct mw_mark *m)
{
	free(m->base);
	*m = (struct mw_mark){ .turns = m->turns + 1 };
}

int64_t mw_mark_growth(const struct mw_mark *m, const struct mw_row *r, uint64_t hash)
{
	bool known = r->id < m->n && m->base[r->id].hash == hash;

	if (!m->set)
		return 0;
	return mw_difference(r->live_bytes, known ? m->base[r->id].live_bytes : 0);
}
