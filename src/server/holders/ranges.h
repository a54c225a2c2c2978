/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranges.h - finds the range that a word points into, in constant time but for a search in one page.
 *
 * Ranges are sorted and don't overlap. For each page of 4 KiB that a range touches, `first` has the
 * number of the first range that ends in it or behind it, plus one. Pages are grouped in windows of
 * 64 MiB; `windows` leads from an address to its window, or to the only range in it: a block may be terabytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MW_RANGE_PAGE = 12,
	MW_RANGE_WINDOW = 26,
	MW_RANGE_ADDRESS = 48,
	MW_RANGE_PAGES = 1 << (MW_RANGE_WINDOW - MW_RANGE_PAGE)
};

#define MW_RANGE_FULL (1u << 31) /* all of the window is in one range */

struct mw_range {
	uintptr_t start, end;
};

struct mw_ranges {
	uint32_t n, n_windows;
	uint32_t *windows; /* by address >> MW_RANGE_WINDOW: a window's number + 1, or MW_RANGE_FULL and a range's */
	uint32_t *first; /* MW_RANGE_PAGES of each window, and one more at the end */
	struct mw_range (*at)(const void *of, uint32_t i);
	const void *of;
};

/* The bytes of `windows`; the rest is known once these are counted. */
#define MW_RANGES_WINDOWS_BYTES (sizeof(uint32_t) << (MW_RANGE_ADDRESS - MW_RANGE_WINDOW))

/* Numbers the windows that the ranges touch. windows is zeroed, n and at are set. Bytes of `first`. */
size_t mw_ranges_windows(struct mw_ranges *);
/* Fills `first`, which is zeroed. */
void mw_ranges_fill(struct mw_ranges *);

/* The number of the range that has `word` in it; -1: none. */
static inline int64_t mw_ranges_find(const struct mw_ranges *s, uintptr_t word)
{
	uint32_t window, *first;
	uint32_t low, high;

	if (word >> MW_RANGE_ADDRESS)
		return -1;
	window = s->windows[word >> MW_RANGE_WINDOW];
	if (!window)
		return -1;
	if (window & MW_RANGE_FULL)
		return window & ~MW_RANGE_FULL;
	first = &s->first[(size_t)(window - 1) * MW_RANGE_PAGES + (word >> MW_RANGE_PAGE) % MW_RANGE_PAGES];
	if (!*first)
		return -1;
	/* the last range that starts at or before word, from this page's first to the next page's */
	low = first[0] - 1;
	high = low + (1 << MW_RANGE_PAGE) / 16 + 1;
	if (high > s->n)
		high = s->n;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (s->at(s->of, middle).start <= word)
			low = middle;
		else
			high = middle;
	}
	return word >= s->at(s->of, low).start && word < s->at(s->of, low).end ? (int64_t)low : -1;
}
