/* SPDX-License-Identifier: GPL-2.0-or-later */
/* make.h - a map under way: shared by the files of this room. */
#pragma once

#include "map.h"
#include "pages.h"

struct mw_map_making {
	struct mw_map *map;
	struct mw_map_areas areas;
	struct mw_map_pages pages;
	struct mw_map_walk walk;
	/* without the chosen locations' blocks: bytes that a trim gives back, and that go at once */
	uint64_t empty_then, unmapped_then;
	const struct mw_map_ruby *ruby; /* NULL: not known */
	uint8_t *colours; /* by_line.c: by id, the line's byte of a cell */
	/* cells.c */
	uintptr_t *arenas;
	uint32_t n_arenas, numbered;
};

static inline bool mw_map_may_hold(enum mw_area_kind k)
{
	return k == MW_AREA_HEAP || k == MW_AREA_ARENA || k == MW_AREA_ANON || k == MW_AREA_RUBY;
}

/* area_sums.c: the parts, the trim, each area's sums; once the pages are filled. */
void mw_map_sum_areas(struct mw_map_making *);
/* A page's kind; MW_MAP_IS_ABSENT: not in memory. */
enum mw_map_cell mw_map_cell_is(const struct mw_map_making *, const struct mw_map_area *, uintptr_t at,
				const struct mw_map_entry *);
/*
 * chunks.c: bytes of empty pages in glibc's free chunks, which a trim surely gives back; once the areas' sums are
 * known. unknown: bytes of empty pages that may be in free chunks or not.
 */
uint64_t mw_map_surely_empty(struct mw_map_making *, uint64_t *unknown);
/* app_mappings.c: those with the most in memory; once the areas' sums are known. */
void mw_map_find_mappings(struct mw_map_making *);
/* by_line.c: the lines by what they hold. False: no memory. */
bool mw_map_lines(struct mw_map_making *);
/* cells.c: panels, spans and cells. False: no memory. */
bool mw_map_cells(struct mw_map_making *);
