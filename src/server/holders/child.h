/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child.h - shared by the files of the child. All of it is the child's own memory, but `findings`.
 *
 * One struct mw_walk goes through the files in this order: heap.c (objects), blocks.c (blocks),
 * scan.c (who points to what), held_objects.c (sampled objects), path.c (which path), describe.c and edge.c (names), group_held.c (the answer).
 */
#pragma once

#include "holders.h"
#include "native_roots.h"
#include "ranges.h"

enum {
	MW_FOUND_ROWS = 1000,
	MW_FOUND_TEXT = 1 << 20,
	MW_PATH_MOST = 48 /* steps that a path shows */
};

enum mw_found_state { MW_FOUND_NOTHING_YET, MW_FOUND_ALL, MW_FOUND_NO_MEMORY };

/* The answer, in memory shared with the parent. Offsets into text; a path is n_path texts in a row. */
struct mw_findings {
	uint32_t state; /* release by the child, acquire by the parent */
	uint32_t n, text_n;
	uint64_t blocks, bytes, sampled, objects, object_bytes, ns;
	struct mw_suspected suspects[MW_SUSPECTS];
	uint32_t n_lost;
	struct mw_lost lost[MW_LOST];
	struct mw_found {
		uint32_t suspect;
		bool objects;
		enum mw_held_by by;
		uint32_t holder, path, n_path;
		uint64_t blocks, bytes, paths;
	} rows[MW_FOUND_ROWS];
	char text[MW_FOUND_TEXT];
};
/* A text that begins with it goes on with a location's id, in decimal. */
#define MW_FOUND_ID '\1'

/* Ruby's objects are numbered by their slots. A step's parent: an object's number + 1, or a root. */
enum {
	MW_ROOTS = 16,
	MW_ROOT = -MW_ROOTS /* as uint32_t: the first of the numbers that are roots */
};

/* A mapping that the application made leads to blocks as a block does, but no row counts it. */
struct mw_block {
	uintptr_t addr;
	uint64_t size : 42, old : 1, mapping : 1, id : 20;
};
#define MW_BLOCK_SIZE ((UINT64_C(1) << 42) - 1)
_Static_assert(MW_ID_END <= 1u << 20, "a block has room for any id");

static inline uintptr_t mw_block_end(const struct mw_block *b)
{
	return b->addr + (b->size ? b->size : 1);
}

/* How a block is held. `from`: an object's number, a block's number, or an area's. */
enum mw_via { MW_VIA_NONE, MW_VIA_OBJECT, MW_VIA_AREA, MW_VIA_BLOCK };

/* Of an object on a path: keys of what comes before it, and of the step right before it. */
struct mw_path_step {
	uint64_t path, last; /* path: 0 of all others */
};

struct mw_walk {
	const struct mw_api *api;
	struct mw_findings *found;
	struct mw_ranges objects_at; /* pages of objects */
	struct mw_areas *areas;
	const struct mw_globals *globals;
	struct mw_mapping *mappings; /* readable ones, sorted */
	size_t n_mappings;
	/* objects */
	uint32_t n_objects, n_reached;
	uint64_t reached_bytes; /* of the slots of those n_reached */
	uint32_t *parent;  /* by number; 0: not reached */
	uintptr_t *queue;  /* n_reached objects, nearest to a root first */
	const char *roots[MW_ROOTS];
	struct mw_path_step *steps; /* by number; if a location is asked for */
	/* blocks, and mappings among them, by address */
	uint32_t n_blocks;
	struct mw_block *blocks;
	struct mw_ranges blocks_at;
	uint32_t *from;
	uint8_t *via, *by; /* enum mw_via, enum mw_held_by */
	uint8_t *shape; /* enum mw_shape, of blocks that are held */
	const uint8_t *wanted; /* by id: the suspect + 1; 0: not wanted. NULL: all are */
	uint64_t old; /* blocks of earlier generations are old */
	bool young; /* old ones aren't wanted */
	bool asked; /* somebody waits for the answer; false: it is a proof */
	/* sampled objects; once blocks were scanned they follow these, from n_found on */
	const struct mw_holders_object *sampled;
	uint32_t n_sampled, n_found;
	uint32_t *of; /* of those that follow: numbers in sampled[] */
};

/* Is block number i asked for? */
static inline bool mw_is_wanted(const struct mw_walk *w, uint32_t i)
{
	const struct mw_block *b = &w->blocks[i];

	return !b->mapping && !(w->young && b->old) && (!w->wanted || w->wanted[b->id]);
}

/* child_memory.c: ends the child, with that answer. */
_Noreturn void mw_child_end(struct mw_walk *, uint32_t state);
/* Zeroed memory, for the child's life or until mw_sys_unmap. Ends the child if there is none. */
void *mw_child_map(struct mw_walk *, size_t bytes);

/* heap.c: the object with that number, and the reverse; -1: none is there. */
uintptr_t mw_object_at(const struct mw_walk *, uint32_t number);
int64_t mw_object_number(const struct mw_walk *, uintptr_t word);
/* Are there slots of objects in [start, end)? */
bool mw_has_objects(const struct mw_walk *, uintptr_t start, uintptr_t end);
/* The bytes of an object's slot. */
size_t mw_object_size(const struct mw_walk *, uintptr_t object);
/* heap.c: finds the objects that Ruby's roots reach, each with its parent. */
void mw_reach_objects(struct mw_walk *);
/* heap.c: is it a part of its parent? Of an object that was reached. */
bool mw_is_part(const struct mw_walk *, uintptr_t object);

/* blocks.c: copies the live blocks and the application's mappings, sorts them, and makes them findable. */
void mw_copy_blocks(struct mw_walk *);

/* scan.c: finds out how each block is held. */
void mw_scan(struct mw_walk *);

/* held_objects.c: adds the wanted ones of the sampled objects to the blocks, each held by what refers to it. */
void mw_add_sampled(struct mw_walk *);

/* group_held.c: sums the blocks up into the answer. */
void mw_group(struct mw_walk *);
