/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stacks_rows.h - what stacks.c shares with stacks_room.c: the tables themselves. With the lock of stacks.h. */
#ifndef MW_TABLE_STACKS_ROWS_H
#define MW_TABLE_STACKS_ROWS_H

#include "rows.h"
#include "stacks_read.h"

/* parent 0: the outermost frame */
struct mw_node {
	uint32_t next, parent, frame; /* frame | USED: for a sweep */
};
#define USED (UINT32_C(1) << 31)

extern struct mw_rows mw_node_rows, mw_stack_rows, mw_sample_rows;
extern struct mw_heads mw_nodes_of, mw_stacks_of, mw_samples_of;

/* Adds to a figure: readers take no lock. */
#define COUNT(figure, n) mw_set(&mw_stacks_figures.figure, mw_get(&mw_stacks_figures.figure) + (n))

static inline struct mw_node *mw_node_at(uint32_t i)
{
	return mw_rows_at(&mw_node_rows, i);
}

bool mw_some_frame_died(uint32_t node);
/* The stack of that hash in a list, if it is still one of the same code and location; else 0. */
uint32_t mw_stack_known(uint64_t hash, uint32_t first);
/* The stack of a node at a location; 0: no room. */
uint32_t mw_stack_add(uint64_t hash, uint32_t *head, uint32_t id, uint32_t node);
/* Frees the samples of blocks that died. */
void mw_samples_bury(void);
/* stacks_room.c: where something is full. False: nothing was done, it isn't time yet. */
bool mw_stacks_make_room(void);

#endif
