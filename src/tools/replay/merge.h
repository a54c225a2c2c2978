/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge.h - the streams of a recorded file in one order, with births for refs.
 *
 * The order is that of ticks. Between events of the same ticks the stream that ran goes on. The lives of blocks
 * repair the order: the end of a block waits for its birth in another stream, and a birth waits for the end of the
 * block that had its ref before. A stream waits for streams with the same ticks alone, and with a fine clock for
 * MW_MERGE_WAIT_US: if it waited for longer, for what was lost, others would run ahead and take refs for other
 * lives. Then what it waits for counts as lost: the end of an unknown block is left out, and a block whose ref is born
 * again ends.
 *
 * Blocks from before the recording (LIVE) come first, by address. Memory: a word for each ref that there was, and a
 * frame for each stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "index.h"
#include "names.h"
#include "packed.h"

enum { MW_MERGE_WAIT_US = 1 };

struct mw_merge;

struct mw_merge_sums {
	uint64_t ticks_per_second;
	uint64_t first, last; /* ticks of the events so far */
	uint64_t events, births;
	uint64_t live, live_most; /* blocks */
	uint64_t lost;    /* events, as the recorder says */
	uint64_t missing;   /* frames */
	uint64_t repaired;   /* events that waited, and rightly so */
	uint64_t unknown;   /* ends of unknown blocks, which were left out */
	uint64_t ended;    /* blocks that ended because their ref was born again */
	uint32_t threads;
	bool full; /* more births than a packed file can have: the rest was left out */
};

/* NULL: a line in err, of MW_REPLAY_ERROR bytes. Index and names stay open meanwhile. */
struct mw_merge *mw_merge_open(const struct mw_index *, struct mw_names *, char *err);
void mw_merge_close(struct mw_merge *);
/*
 * The next event, as packed.h has it, but that `pages` isn't known and `slot` is 0. Its location is a number
 * of the names. False: the end, or an error: a line in err then, else "".
 */
bool mw_merge_next(struct mw_merge *, struct mw_packed_event *, char *err);
/* Of what was read so far. */
const struct mw_merge_sums *mw_merge_sums(struct mw_merge *);
