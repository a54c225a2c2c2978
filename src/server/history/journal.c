/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal.c - ticks: the changes between two snapshots. See journal.h. */
#include "journal.h"

#include <stdlib.h>
#include <string.h>

#include "shared/sys/mw_assert.h"

/* Extends entries[] to the largest id of s. */
static bool make_entry_room(struct mw_journal *j, const struct mw_snapshot *s)
{
	size_t n = mw_ids_end(s, j->n);
	struct mw_entry *p;

	if (n == j->n)
		return true;
	n += n / 4;
	p = realloc(j->entries, n * sizeof(*p));
	if (!p)
		return false;
	memset(p + j->n, 0, (n - j->n) * sizeof(*p));
	j->entries = p;
	j->n = n;
	return true;
}

static bool same_text(const struct mw_row *a, const struct mw_row *b)
{
	return a->location_len == b->location_len && !memcmp(a->location, b->location, a->location_len);
}

static bool same_numbers(const struct mw_row *a, const struct mw_row *b)
{
	return a->total == b->total && a->allocations == b->allocations && a->frees == b->frees &&
	       a->growth == b->growth && a->live_bytes == b->live_bytes && a->live == b->live &&
	       a->life_sum == b->life_sum && a->life_max == b->life_max && a->objects == b->objects &&
	       a->object_samples == b->object_samples;
}

/* Updates the entry of a row in the new snapshot; e->row is still in the old one. */
static void update_entry(struct mw_entry *e, const struct mw_row *r, const struct mw_mark *mark,
			 uint32_t tick)
{
	int64_t growth;

	if (!e->row || !same_text(e->row, r)) {
		if (e->row)
			e->gone = tick;
		e->appeared = e->changed = tick;
		e->hash = mw_location_hash(r);
		e->mark = mw_mark_growth(mark, r, e->hash);
	} else {
		growth = mw_mark_growth(mark, r, e->hash);
		if (growth != e->mark || !same_numbers(e->row, r))
			e->changed = tick;
		e->mark = growth;
	}
	e->row = r;
}

int mw_journal_tick(struct mw_journal *j, const struct mw_api *api, const struct mw_mark *mark)
{
	struct mw_snapshot *s = api->snapshot(), *old = j->snapshot;
	uint32_t tick = j->tick + 1;

	if (!s)
		return -1;
	if (!make_entry_room(j, s)) {
		api->snapshot_free(s);
		return -1;
	}
	for (size_t i = 0; i < s->n; i++) {
		if (s->rows[i].id >= MW_ID_END)
			continue;
		/* an id comes once: its entry isn't in the new snapshot yet */
		mw_assert(s->rows[i].id < j->n &&
			  (uintptr_t)j->entries[s->rows[i].id].row - (uintptr_t)s->rows >=
				  s->n * sizeof(*s->rows));
		update_entry(&j->entries[s->rows[i].id], &s->rows[i], mark, tick);
	}
	/* an entry that still points into the old snapshot is gone */
	for (size_t i = 0; old && i < old->n; i++) {
		struct mw_entry *e = old->rows[i].id < MW_ID_END ? &j->entries[old->rows[i].id] : NULL;

		if (e && e->row == &old->rows[i]) {
			e->row = NULL;
			e->gone = tick;
		}
	}
	j->snapshot = s;
	j->tick = tick;
	if (old)
		api->snapshot_free(old);
	return 0;
}

void mw_journal_free(struct mw_journal *j, const struct mw_api *api)
{
	if (j->snapshot)
		api->snapshot_free(j->snapshot);
	free(j->entries);
	*j = (struct mw_journal){ .tick = j->tick };
}
