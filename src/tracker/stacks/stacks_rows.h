/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stacks_rows.h - shared by stacks.c and stacks_room.c: the tables themselves. With the lock of stacks.h. */
#pragma once

#include "tracker/table/row_lists.h"
#include "stacks_read.h"

/* Most of what stacks take is these, so each is 8 bytes. */
enum { MW_NODE_BITS = 19, MW_FRAME_BITS = 17 };
struct mw_node {
	uint64_t next : MW_NODE_BITS, parent : MW_NODE_BITS; /* parent 0: the outermost frame */
	uint64_t frame : MW_FRAME_BITS;
	uint64_t used : 1; /* for a sweep */
};
#define MW_NODE_MASK ((1u << MW_NODE_BITS) - 1)
#define MW_FRAME_MASK ((1u << MW_FRAME_BITS) - 1)
_Static_assert(MW_STACK_NODES_MAX <= MW_NODE_MASK && MW_STACK_FRAMES_MAX <= MW_FRAME_MASK,
	       "struct mw_node");

extern struct mw_rows mw_node_rows, mw_stack_rows, mw_sample_rows;
extern struct mw_heads mw_nodes_of, mw_stacks_of, mw_samples_of;

/* Adds to a figure: readers take no lock. */
#define COUNT(figure, n) mw_set(&mw_stacks_figures.figure, mw_get(&mw_stacks_figures.figure) + (n))

static inline struct mw_node *mw_node_at(uint32_t i)
{
	return mw_rows_at(&mw_node_rows, i);
}

static inline uint64_t mw_node_hash(uint32_t parent, uint32_t frame)
{
	return mw_mix((uint64_t)parent << 32 | frame);
}

bool mw_some_frame_died(uint32_t node);
/* The stack of that hash in a list, if it is still one of the same code and location; else 0. */
uint32_t mw_stack_known(uint64_t hash, uint32_t first);
/* The stack of a node at a location; 0: no room. */
uint32_t mw_stack_add(uint64_t hash, uint32_t *head, uint32_t id, uint32_t node);
/* The stack of a walk at a location; 0: no room, not even for the location without a caller. */
uint32_t mw_stack_take(const struct mw_walk *, uint32_t id);
/* Frees the samples of blocks that died. */
void mw_samples_bury(void);
/* stacks_room.c: makes more lists where they are crowded. */
void mw_stacks_fit(void);
/* Where something is full. False: nothing was done, it isn't time yet. */
bool mw_stacks_make_room(void);
