/* SPDX-License-Identifier: GPL-2.0-or-later */
/* by_line.c - the locations by the memory that they hold. See make.h. */
#include <stdlib.h>
#include <string.h>

#include "make.h"

enum { LINES_MAX = 1000 };

static int by_location(const void *a, const void *b)
{
	const struct mw_map_line *x = a, *y = b;
	size_t n = x->location_len < y->location_len ? x->location_len : y->location_len;
	int c = memcmp(x->location, y->location, n);

	return c ? c : (x->location_len > y->location_len) - (x->location_len < y->location_len);
}

static int by_holds(const void *a, const void *b)
{
	const struct mw_map_line *x = a, *y = b;

	if (x->holds != y->holds)
		return x->holds < y->holds ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return by_location(a, b);
}

/* One line for all ids of a location; v is sorted by location. Returns their number. */
static uint32_t merge(struct mw_map_line *v, uint32_t n)
{
	uint32_t to = 0;

	for (uint32_t i = 1; i < n; i++) {
		if (by_location(&v[to], &v[i])) {
			v[++to] = v[i];
			continue;
		}
		v[to].blocks += v[i].blocks;
		v[to].bytes += v[i].bytes;
		v[to].holds += v[i].holds;
		v[to].alone += v[i].alone;
	}
	return n ? to + 1 : 0;
}

/* The locations' texts are the snapshot's: the map gets a copy. */
static char *copy_location(char *to, const char **text, uint32_t n)
{
	memcpy(to, *text, n);
	*text = to;
	return to + n + 1;
}

static bool own_texts(struct mw_map *m)
{
	size_t bytes = 0;
	char *p;

	for (uint32_t i = 0; i < m->n_lines; i++)
		bytes += m->lines[i].location_len + 1;
	for (uint32_t i = 0; i < m->n_mappings; i++)
		bytes += m->mappings[i].location_len + 1;
	m->texts = p = mw_map_memory(bytes);
	if (!p)
		return false;
	m->bytes[5] = bytes;
	for (uint32_t i = 0; i < m->n_lines; i++)
		p = copy_location(p, &m->lines[i].location, m->lines[i].location_len);
	for (uint32_t i = 0; i < m->n_mappings; i++)
		p = copy_location(p, &m->mappings[i].location, m->mappings[i].location_len);
	return true;
}

/* The mappings' locations; one that isn't in the snapshot any more has an empty text. */
static void name_mappings(struct mw_map *m, const struct mw_snapshot *s)
{
	for (uint32_t k = 0; k < m->n_mappings; k++)
		m->mappings[k].location = "";
	for (size_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < m->n_mappings; k++)
			if (m->mappings[k].id == s->rows[i].id) {
				m->mappings[k].location = s->rows[i].location;
				m->mappings[k].location_len = s->rows[i].location_len;
			}
}

/* The ids' colours: each of a location's ids has the location's. */
static bool colour(struct mw_map_making *k, const struct mw_snapshot *s)
{
	const struct mw_map *m = k->map;
	uint32_t n = m->n_lines < MW_MAP_COLOURS ? m->n_lines : MW_MAP_COLOURS;
	struct mw_map_line *named = mw_map_memory(n * sizeof(*named));

	k->colours = mw_map_memory(k->walk.ids);
	if (!named || !k->colours) {
		mw_map_memory_free(named, n * sizeof(*named));
		return false;
	}
	memset(k->colours, MW_MAP_COLOURS + 1, k->walk.ids);
	if (n)
		memcpy(named, m->lines, n * sizeof(*named));
	for (uint32_t i = 0; i < n; i++)
		named[i].id = i + 1; /* its colour, for now */
	qsort(named, n, sizeof(*named), by_location);
	for (size_t i = 0; i < s->n; i++) {
		const struct mw_map_line key = { .location = s->rows[i].location,
						 .location_len = s->rows[i].location_len };
		const struct mw_map_line *found = bsearch(&key, named, n, sizeof(*named), by_location);

		if (found && s->rows[i].id < k->walk.ids)
			k->colours[s->rows[i].id] = (uint8_t)found->id;
	}
	mw_map_memory_free(named, n * sizeof(*named));
	return true;
}

bool mw_map_lines(struct mw_map_making *k)
{
	struct mw_snapshot *s = k->walk.api->snapshot();
	struct mw_map *m = k->map;
	size_t room = s ? s->n * sizeof(*m->lines) : 0;
	bool ok = false;
	uint32_t n = 0;

	if (!s)
		return false;
	m->lines = mw_map_memory(room);
	if (m->lines) {
		m->bytes[4] = room;
		for (size_t i = 0; i < s->n; i++) {
			const struct mw_row *r = &s->rows[i];
			const struct mw_map_sum *sum = r->id < k->walk.ids ? &k->walk.sums[r->id] : NULL;

			if (sum && sum->blocks)
				m->lines[n++] = (struct mw_map_line){
					.location = r->location,
					.location_len = r->location_len,
					.id = r->id,
					.blocks = sum->blocks,
					.bytes = sum->bytes,
					.holds = (uint64_t)(sum->holds + 0.5),
					.alone = sum->alone
				};
		}
		qsort(m->lines, n, sizeof(*m->lines), by_location);
		n = merge(m->lines, n);
		qsort(m->lines, n, sizeof(*m->lines), by_holds);
		m->n_lines = n < LINES_MAX ? n : LINES_MAX;
		name_mappings(m, s);
		ok = own_texts(m) && colour(k, s);
	}
	k->walk.api->snapshot_free(s);
	return ok;
}
