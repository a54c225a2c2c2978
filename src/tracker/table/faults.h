/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults.h - faults by location: blocks that the app wrote past the end of, or freed with a wrong size.
 *
 * They are kept apart from the table of locations: a process without any, as most are,
 * pays nothing. A location with one is never retired. Counts never start again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracker/base/arena.h"

struct mw_overruns {
	uint64_t count;     /* blocks; release, after last_size */
	uint64_t last_size; /* bytes; relaxed */
	uint64_t wrong_sizes; /* blocks; release, after asked and given */
	uint64_t asked, given; /* bytes, of the last of these; relaxed, each by itself */
	/* a log line about it was written, or is being; atomic exchange */
	uint32_t said, said_size;
};

/*
 * Counts an overrun of a block of `size` bytes at a location. The block isn't counted as freed
 * yet, which keeps the id's tenant. Returns the location's entry, or NULL: no memory. Lock-free,
 * async-signal-safe.
 */
struct mw_overruns *mw_overruns_add(uint32_t id, uint64_t size);

/* The same for a block that was asked for with `asked` bytes, and freed as one of `given`. */
struct mw_overruns *mw_wrong_sizes_add(uint32_t id, uint64_t asked, uint64_t given);

/* A location's entry, valid for ever; NULL: it has neither. */
const struct mw_overruns *mw_overruns_at(uint32_t id);
