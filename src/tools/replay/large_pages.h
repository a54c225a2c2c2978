/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * large_pages.h - how many pages of large blocks were in memory, as a packed file has them.
 *
 * Contents of PAGES: for each block, by births: varint: its birth less that of the block before (a frame's first:
 * less 0), varint: pages. The frame's `events` is how many.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mw_pages {
	uint64_t birth, pages;
};

enum { MW_PAGES_BYTES = 20 }; /* the most of one */

/* Writes one behind the block `before`, of birth 0 for a frame's first. Returns its length. */
size_t mw_pages_write(const struct mw_pages *, uint64_t before, uint8_t *to);

/* Zeroed: nothing is left. */
struct mw_pages_reader {
	uint64_t birth;
	const uint8_t *at, *end;
};
/* False: none is left, or it is broken. */
bool mw_pages_next(struct mw_pages_reader *, struct mw_pages *);
