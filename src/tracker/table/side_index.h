/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * side_index.h - leads from a block without a tail to its record.
 *
 * A block has no tail if it fills its size class, and the allocator's next one is much larger
 * (tail.h; tracker/real/classes.h: mw_goes_beside).
 *
 * The index has a word for each MW_BESIDE bytes of address space, and others for each MW_BESIDE_LARGE bytes, for blocks
 * with that much room or more. No block is smaller than the bytes of its word, so two never begin at the same one.
 * The words are mapped on demand, in pieces. They take 1/120 of these blocks' memory, and few pages for a few blocks:
 * the first words of a region (4 MiB) share a page with those of all its large blocks. The allocating thread writes the
 * word; nothing clears it.
 * The record tells if it is the block's. Relaxed: the freeing thread has synchronised with the
 * allocating one.
 *
 * Any thread, also in a signal handler. No locks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/real/classes.h"

enum { MW_BESIDE_LARGE = 8192 };

/*
 * usable: p's room, the same in both. ref: a record's, or MW_REF_END and above: p is not counted. False: no memory, or
 * the ceiling.
 */
bool mw_side_index_put(const void *p, size_t usable, uint32_t ref);
/* The ref last put for p or a block that began near it. MW_REF_END: p was not counted; 0: none. */
uint32_t mw_side_index_get(const void *p, size_t usable);
/* It once had no memory: so nothing leads to some blocks without a tail. They aren't counted. Relaxed. */
extern MW_HIDDEN bool mw_side_index_full;
