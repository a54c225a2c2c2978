/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.h - where the process's memory is, page by page, and what keeps each page in memory.
 *
 * mw_map_make reads the process's mappings, asks the kernel which of their pages are in memory, and
 * walks the tracker's live blocks twice. It stops nobody: it takes no lock of the application's and
 * allocates by mmap alone, but for the lines' names, which are the tracker's snapshot. Blocks that
 * are allocated or freed meanwhile may be missing or present.
 *
 * Of a page with several blocks each holds a share, by its bytes: a line's `holds` is the sum of its
 * blocks' shares. So the sum over all lines is the resident memory of pages with blocks in them.
 *
 * Address space that is only reserved costs nothing. A map takes 64 MB at most, and asks for pages for a fifth of a
 * second at most: what is left out is told.
 *
 * Any thread, in quiet mode, without Ruby's lock if it can. A map belongs to its maker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* The parts of the resident memory. */
enum mw_map_part {
	MW_MAP_LIVE,    /* the bytes of live blocks */
	MW_MAP_HOLES,   /* the rest of pages that have live blocks */
	MW_MAP_EMPTY, /* the allocator's pages without a live block: a trim gives back most of them */
	MW_MAP_ENDS, /* the same at the end of one of glibc's thread arenas: a trim leaves these */
	/*
	 * Where some blocks aren't known: the allocator's pages without a known block. While allocations are sampled, also
	 * the rest of its other pages.
	 */
	MW_MAP_UNKNOWN,
	MW_MAP_RUBY, /* Ruby's heap pages */
	MW_MAP_STACKS,
	MW_MAP_FILES, /* libraries and other files, also private copies of their pages */
	MW_MAP_OWN, /* the tracker's */
	MW_MAP_OTHER, /* anonymous memory that is none of these */
	MW_MAP_PARTS_N
};

/* A cell's kind, in the low 6 bits of its fill byte. */
enum mw_map_cell {
	MW_MAP_IS_ABSENT,
	MW_MAP_IS_EMPTY,
	MW_MAP_IS_END,
	MW_MAP_IS_RUBY,
	MW_MAP_IS_SWAPPED,
	MW_MAP_IS_UNKNOWN,
	MW_MAP_IS_OTHER,
	MW_MAP_IS_USED =
		8, /* from here on: has live blocks, or in Ruby's panel objects, and is filled by (v - MW_MAP_IS_USED) / MW_MAP_IS_FILL */
	MW_MAP_IS_MASK = 63
};
#define MW_MAP_IS_FILL 55
#define MW_MAP_IS_SHARED 64 /* with another process, after a fork */
#define MW_MAP_IS_HUGE 128

enum mw_map_panel_kind {
	MW_PANEL_MAIN, /* glibc's main arena */
	MW_PANEL_ARENA, /* another one of glibc's */
	MW_PANEL_BLOCKS, /* glibc's blocks with mappings of their own */
	MW_PANEL_ALLOCATOR, /* another allocator's memory */
	MW_PANEL_RUBY,
	MW_PANEL_OTHER
};
const char *mw_map_panel_name(enum mw_map_panel_kind); /* "arena" */
const char *mw_map_part_name(enum mw_map_part); /* "holes" */
const char *mw_map_part_title(enum mw_map_part); /* "holes beside live blocks" */

/* Consecutive pages: cells cell to cell + pages - 1. */
struct mw_map_span {
	uintptr_t start;
	uint32_t cell, pages;
};

struct mw_map_panel {
	enum mw_map_panel_kind kind;
	uint32_t number; /* of an arena, from 1 on, the largest first; 0: the only one of its kind */
	uint32_t cell, cells; /* cell is a multiple of MW_MAP_ROW */
	uint32_t span, spans; /* its first one's index, and how many */
	uint64_t resident, live; /* bytes */
};
#define MW_MAP_ROW 256u /* cells that are drawn as one row: 1 MiB with pages of 4 KiB */

/* A location, with all its ids. */
struct mw_map_line {
	const char *location; /* of location_len bytes; the map owns it */
	uint32_t location_len;
	uint32_t id; /* of one of its rows */
	uint64_t blocks, bytes; /* live */
	uint64_t holds; /* bytes of memory: see above */
	uint64_t alone; /* bytes of pages in which only its blocks are */
};

/* Anonymous memory that is no allocator's, by the location of the calls of mmap. */
struct mw_map_mapping {
	uintptr_t start; /* of the first one */
	uint32_t n;
	uint64_t bytes, resident; /* of all; resident: of MW_MAP_OTHER */
	uint32_t id;
	uint32_t location_len;
	const char *location; /* the map owns it */
};
#define MW_MAP_MAPPINGS 128u

/* How full Ruby's heap pages are, by address. Only Ruby can say: in a Rack app, with its lock. */
struct mw_map_ruby {
	size_t n;
	const struct mw_map_ruby_page {
		uintptr_t start, end; /* of its slots */
		size_t used; /* bytes of slots with an object */
	} *v;
};

/*
 * A trim's effect, estimated from live blocks and pages. glibc: to a few per cent. jemalloc and tcmalloc
 * keep pages in threads' caches and beside other blocks of a size: bytes is the most. mimalloc gives a thread's
 * memory back in that thread only: 0.
 */
struct mw_map_trim {
	bool known; /* false: some blocks aren't, and the rest is 0 */
	uint64_t bytes; /* given back, at most */
	uint64_t least; /* glibc: the same without pages of blocks that threads' caches keep; chunks.c */
	uint64_t ns; /* time that it holds locks of the allocator's, roughly */
};

struct mw_map {
	const char *allocator; /* static; "" if it isn't known */
	size_t page; /* bytes */
	enum mw_missing missing; /* which blocks aren't known */
	/* Bytes that a map has no room or time for: */
	uint64_t left_out; /* in memory or swapped out, in none of the parts: MW_MAP_LEAVES (pages.h) */
	uint64_t unsearched; /* of address space in which it isn't known what is in memory */
	uint64_t undrawn; /* of address space that has no cells: MW_MAP_CELLS_MAX */
	uint64_t rss; /* as the kernel says it; 0: not known */
	uint64_t parts[MW_MAP_PARTS_N]; /* bytes */
	uint64_t swapped, shared, huge; /* bytes; shared and huge are in `parts`, too */
	uint64_t live_bytes, live; /* of all blocks */
	uint64_t outside; /* bytes of blocks that are in none of the process's mappings */
	uint64_t ns; /* CPU time that it took */
	struct mw_map_trim trim;
	bool ruby_known; /* it is known what objects fill of Ruby's heap pages: */
	uint64_t ruby_slots, ruby_used; /* bytes */
	uint32_t n_cells, n_panels, n_spans, n_lines;
	uint8_t *fill; /* by cell */
	uint8_t *line; /* by cell: index + 1 in `lines` if below MW_MAP_COLOURS; else MW_MAP_COLOURS + 1; 0: no block */
	struct mw_map_panel *panels;
	struct mw_map_span *spans;
	struct mw_map_line *lines; /* the largest `holds` first */
	struct mw_map_mapping mappings[MW_MAP_MAPPINGS]; /* the most resident first */
	uint32_t n_mappings;
	char *texts;
	size_t bytes[6]; /* of the six pieces of memory above, in this order */
};
#define MW_MAP_CELLS_MAX (4u << 20) /* 16 GiB with pages of 4 KiB */
#define MW_MAP_COLOURS 250u

/* rss: as the kernel says it just now. ruby: NULL if nobody knows. NULL: no memory, or no /proc. Free with mw_map_free. */
struct mw_map *mw_map_make(const struct mw_api *, uint64_t rss, const struct mw_map_ruby *ruby);
void mw_map_free(struct mw_map *);

/*
 * The allocator's memory alone: *heap, bytes of it that are resident, and *live, bytes of live blocks. Takes
 * about half of a map's time. False: no memory, or no /proc.
 */
bool mw_map_heap(const struct mw_api *, uint64_t *heap, uint64_t *live);

/* The sum of all parts. */
uint64_t mw_map_seen(const struct mw_map *);

/* The memory that would be free without some locations' blocks. Exact unless a thread allocates meanwhile. */
struct mw_map_whatif {
	uint64_t blocks, bytes; /* that would be gone */
	uint64_t empty_now, empty_then; /* a trim gives them back: as mw_map_trim.bytes */
	uint64_t unmapped; /* of blocks with a mapping of their own: free(3) gives it back by itself */
	uint64_t left_out; /* bytes in memory that aren't in these, for want of room */
};
/* False: no memory. ids: those of the locations. */
bool mw_map_whatif(const struct mw_api *, const uint32_t *ids, size_t n, struct mw_map_whatif *);

/* Sets a bit of to[(n_cells + 7) / 8], which is zeroed, for each cell that has a block of these ids. */
bool mw_map_light(const struct mw_map *, const struct mw_api *, const uint32_t *ids, size_t n, uint8_t *to);

/* The live blocks that touch a page. */
struct mw_map_page {
	uintptr_t page;
	uint64_t live; /* their bytes in it */
	uint32_t n, more; /* in v; left out for want of room */
	struct mw_live v[512]; /* by address */
};
void mw_map_look(const struct mw_api *, uintptr_t at, struct mw_map_page *);
/* The cell of an address; -1: none. */
int64_t mw_map_cell_of(const struct mw_map *, uintptr_t at);

/*
 * One tile: 2 * the cells of it bytes, first all fill bytes, then all line bytes. Returns the number of
 * cells; 0: there is no such tile. to has room for 2 * MW_MAP_TILE bytes.
 */
uint32_t mw_map_tile(const struct mw_map *, unsigned level, uint32_t number, uint8_t *to);
unsigned mw_map_levels(const struct mw_map *); /* the last one has one tile */
#define MW_MAP_TILE 65536u
