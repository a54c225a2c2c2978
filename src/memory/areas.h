/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * areas.h - the purpose of each part of the address space.
 *
 * An area is a mapping, or a part of one: the kernel joins neighbours, and glibc's arenas, Ruby's heap
 * pages and the tracker's tables may lie in one mapping. Areas are sorted and don't overlap. Names of
 * mappings, threads' stack pointers and the tracker's lists tell. Once it is known which pages are in memory,
 * glibc's header at the start of a thread arena's heap tells (heaps.c): what isn't in memory is never read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

enum mw_area_kind {
	MW_AREA_FILE,
	MW_AREA_HEAP,  /* the main arena's: brk(2) */
	MW_AREA_ARENA, /* a heap of a thread arena of glibc's, as far as it is in use */
	MW_AREA_ANON,  /* blocks may be there */
	MW_AREA_NONE,  /* anonymous, without access */
	MW_AREA_RUBY,
	MW_AREA_STACK,
	MW_AREA_OWN
};

struct mw_map_area {
	uintptr_t start, end;
	enum mw_area_kind kind;
	bool guarded;       /* ANON, right above a guard: a stack if no block is in it */
	bool stack; /* ANON, with a thread's stack pointer in its mapping: a stack if no heap is in that */
	uintptr_t mapping_end;
	uintptr_t heap; /* of a heap: its header; a heap with Ruby's heap pages in it is several areas */
	uintptr_t arena; /* of a heap: the address of its arena */
	uintptr_t previous; /* of a heap: the arena's heap before this one; 0: it is the first */
	uint32_t panel; /* cells.c: which one it is drawn in, by its first number, plus 1; 0: none */
	uintptr_t searched; /* make.c: up to here it is known what is in memory */
	/* area_sums.c: */
	bool last; /* the last heap of its arena */
	uint64_t resident, live; /* bytes; live: of blocks in resident pages */
	uintptr_t used; /* one past the last page with a block or its edge; start: there is none */
};

struct mw_map_areas {
	size_t n, room;
	struct mw_map_area *v;
	bool failed; /* no memory: some are missing */
	uint64_t dropped; /* bytes of those that came after MW_MAP_AREAS_MAX others */
};

#define MW_MAP_AREAS_MAX 80000u /* the kernel allows for 65,530 mappings, unless it is told otherwise */

struct mw_map_pages;

/* False: no memory, or no /proc. Else free it. No heap of glibc's is known yet. */
bool mw_map_areas_make(struct mw_map_areas *, const struct mw_api *);
/* heaps.c: the same with glibc's heaps, if there are any; the pages are sorted. False: no memory. */
bool mw_map_areas_split(struct mw_map_areas *, const struct mw_map_pages *, bool glibc);
/* Adds one behind the others, unless it is empty. */
void mw_map_areas_push(struct mw_map_areas *, struct mw_map_area);
void mw_map_areas_free(struct mw_map_areas *);
/* The area of an address; NULL: none. */
struct mw_map_area *mw_map_area_at(const struct mw_map_areas *, uintptr_t at);
/* The first one that ends behind it; v + n: there is none. */
struct mw_map_area *mw_map_area_from(const struct mw_map_areas *, uintptr_t at);

/* memory.c: zeroed memory from mmap, left out of core dumps; NULL: none. */
void *mw_map_memory(size_t bytes);
void mw_map_memory_free(void *, size_t bytes);
