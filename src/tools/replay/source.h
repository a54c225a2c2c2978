/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.h - a recording of either kind, read from end to end: recorded (merge.h) or packed (packed.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "merge.h"
#include "names.h"
#include "packed.h"

struct mw_source {
	const struct mw_index *index;
	struct mw_names *names;
	struct mw_packed *packed; /* of a packed file */
	struct mw_merge *merge; /* of a recorded one */
	struct mw_index own;
	uint64_t ticks_per_second;
};

/* False: a line in err. Nothing is left to close then. */
bool mw_source_open(struct mw_source *, const char *path, char *err);
void mw_source_close(struct mw_source *);
/* As mw_packed_next, but that an event's location is a number of the names. `pages` and `slot` aren't for both. */
bool mw_source_next(struct mw_source *, struct mw_packed_event *, char *err);
/* After the end: writes lines about what couldn't be read, or isn't sure, to stderr. */
void mw_source_report(struct mw_source *, const char *path);
