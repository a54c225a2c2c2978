/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heap.h - the pages of Ruby's heap, as the parent collects them for the child. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ranges.h"

enum { MW_HEAP_PAGES = 1 << 20 };

/* A page's slots; `first` is the number of its first one. */
struct mw_heap_slots {
	uintptr_t start;
	uint32_t slot, n; /* bytes, slots */
	uint32_t first;
};

/* Sorted by mw_heap_sort. */
struct mw_heap_pages {
	uint32_t n;
	bool full; /* there are more */
	struct mw_heap_slots v[MW_HEAP_PAGES];
};

/* Sorts them by address, and numbers their slots; false: too many slots. */
bool mw_heap_sort(struct mw_heap_pages *);
struct mw_range mw_heap_range(const void *of, uint32_t i);
