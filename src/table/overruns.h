/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overruns.h - where blocks were allocated that the app wrote past the end of.
 *
 * Beside the table of locations and not in it: a process without such blocks,
 * as most are, pays for none of this. A location that has some is never
 * retired. Counts never start again.
 */
#ifndef MW_TABLE_OVERRUNS_H
#define MW_TABLE_OVERRUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct mw_overruns {
	uint64_t count;     /* blocks; release, after last_size */
	uint64_t last_size; /* bytes; relaxed */
	uint32_t said;      /* a line about it was written, or is being; exchanged */
};

/*
 * Counts a block of `size` bytes at a location. The caller holds the id: the
 * block isn't counted as freed yet. Returns the location's entry, or NULL if
 * there is no memory for it. Lock-free, async-signal-safe.
 */
struct mw_overruns *mw_overruns_add(uint32_t id, uint64_t size);

/* A location's entry; NULL: it never had any. Valid for ever. */
const struct mw_overruns *mw_overruns_at(uint32_t id);

#endif
