/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tile.c - the cells in pieces, near and far. See map.h. */
#include <string.h>

#include "memory/map.h"

static uint32_t cells_at(const struct mw_map *m, unsigned level)
{
	uint64_t each = UINT64_C(1) << 2 * level;

	return (uint32_t)((m->n_cells + each - 1) / each);
}

unsigned mw_map_levels(const struct mw_map *m)
{
	unsigned level = 0;

	while (cells_at(m, level) > MW_MAP_TILE)
		level++;
	return level + 1;
}

/* Many cells as one: what most of those in memory are, and the line that most of these have. */
static void join_cells(const uint8_t *fill, const uint8_t *line, uint32_t n, uint8_t *to_fill,
		       uint8_t *to_line)
{
	uint32_t count[MW_MAP_IS_USED + 1] = { 0 }, filled = 0, votes = 0, shared = 0, huge = 0;
	unsigned most = MW_MAP_IS_ABSENT;
	uint8_t winner = 0;

	for (uint32_t i = 0; i < n; i++) {
		unsigned v = fill[i] & MW_MAP_IS_MASK, is = v < MW_MAP_IS_USED ? v : MW_MAP_IS_USED;

		count[is]++;
		shared += (fill[i] & MW_MAP_IS_SHARED) != 0;
		huge += (fill[i] & MW_MAP_IS_HUGE) != 0;
		if (is == MW_MAP_IS_USED)
			filled += v - MW_MAP_IS_USED;
		if (!line[i])
			continue;
		if (!votes)
			winner = line[i];
		votes += line[i] == winner ? 1 : (uint32_t)-1;
	}
	for (unsigned is = MW_MAP_IS_EMPTY; is <= MW_MAP_IS_USED; is++)
		if (count[is] && (most == MW_MAP_IS_ABSENT || count[is] > count[most]))
			most = is;
	*to_fill = (uint8_t)(most == MW_MAP_IS_USED ? most + filled / count[most] : most);
	if (most != MW_MAP_IS_ABSENT)
		*to_fill |= (uint8_t)((shared * 2 > n ? MW_MAP_IS_SHARED : 0) |
				      (huge * 2 > n ? MW_MAP_IS_HUGE : 0));
	*to_line = winner;
}

uint32_t mw_map_tile(const struct mw_map *m, unsigned level, uint32_t number, uint8_t *to)
{
	uint32_t all, first, n, each;

	if (level >= mw_map_levels(m))
		return 0;
	all = cells_at(m, level);
	if (number >= (all + MW_MAP_TILE - 1) / MW_MAP_TILE)
		return 0;
	first = number * MW_MAP_TILE;
	n = all - first < MW_MAP_TILE ? all - first : MW_MAP_TILE;
	each = 1u << 2 * level;
	if (!level) {
		memcpy(to, m->fill + first, n);
		memcpy(to + n, m->line + first, n);
		return n;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = (first + i) * each,
			 k = m->n_cells - from < each ? m->n_cells - from : each;

		join_cells(m->fill + from, m->line + from, k, &to[i], &to[n + i]);
	}
	return n;
}
