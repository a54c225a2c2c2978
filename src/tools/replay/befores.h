/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * befores.h - the blocks that lived when a recording began (LIVE), by address.
 *
 * A recorder lists them while other threads go on. So a block that was born meanwhile is listed, too, and
 * its birth is recorded. It isn't one from before: its ref's first event is a birth.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "streams.h"

struct mw_before {
	uint64_t address, size;
	uint32_t ref, location; /* location: a number of the names */
};

/* Zeroed: none. */
struct mw_befores {
	struct mw_array all; /* struct mw_before */
	uint64_t last; /* offset of the last frame with some of them */
};

/* Takes the LIVE events that the stream begins with. False: no memory. */
bool mw_befores_take(struct mw_befores *, struct mw_streams *, struct mw_stream *, struct mw_names *);
/* After the last: leaves out those that were born meanwhile, and sorts the others. False: no memory. */
bool mw_befores_settle(struct mw_befores *, const struct mw_index *);
void mw_befores_free(struct mw_befores *);
