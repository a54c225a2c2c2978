/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * side_index.h - what leads from a block to its record where the block has no room
 * for that: a buffer of a power of two, on an allocator whose next class is a
 * fifth larger or more (track/tail.h).
 *
 * A word for each MW_BESIDE bytes of address space, in pieces mapped on demand:
 * 1/128 of such buffers. A block without a tail has MW_BESIDE bytes or more, so
 * two of them never begin at the same word. A word is written when its block
 * is allocated, by that thread, and never cleared: whether a record is a block's
 * is for the record to say. Relaxed: who frees has synchronised with who allocated.
 *
 * Any thread, also in a signal handler. Nothing is locked.
 */
#ifndef MW_TABLE_SIDE_INDEX_H
#define MW_TABLE_SIDE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MW_BESIDE = 512 };

/* ref: a record's, or any from MW_REF_END on: p is not counted. False: no memory, or the ceiling is reached. */
bool mw_side_index_put(const void *p, uint32_t ref);
/* The ref last put for p or a block that began near it; MW_REF_END: p was not counted; 0: none. */
uint32_t mw_side_index_get(const void *p);

#endif
