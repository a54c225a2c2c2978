/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heap_fill.h - how full each of Ruby's heap pages is, for the memory map (memory/map.h). */
#pragma once

#include <stdbool.h>

#include "memory/map.h"

/*
 * In a Ruby thread with the GVL. Reads the header of each slot, and ends a collection that is under way. False:
 * no memory, or this Ruby doesn't show its pages. Free it in any thread; all zero is nothing to free.
 */
bool mw_heap_fill(struct mw_map_ruby *);
void mw_heap_fill_free(struct mw_map_ruby *);
