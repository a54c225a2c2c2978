/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overruns.h - overruns by location: blocks that the app wrote past the end of.
 *
 * They are kept apart from the table of locations: a process without overruns, as most are,
 * pays nothing. A location with an overrun is never retired. Counts never start again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracker/base/arena.h"

struct mw_overruns {
	uint64_t count;     /* blocks; release, after last_size */
	uint64_t last_size; /* bytes; relaxed */
	uint32_t said;      /* a log line about it was written, or is being; atomic exchange */
};

/*
 * Counts an overrun of a block of `size` bytes at a location. The block isn't counted as freed
 * yet, which keeps the id's tenant. Returns the location's entry, or NULL: no memory. Lock-free,
 * async-signal-safe.
 */
struct mw_overruns *mw_overruns_add(uint32_t id, uint64_t size);

/* A location's entry, valid for ever; NULL: it has no overrun. */
const struct mw_overruns *mw_overruns_at(uint32_t id);
