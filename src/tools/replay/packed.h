/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packed.h - a packed recording read from end to end, one event after the other.
 *
 * The file is mapped and read in order. The reader's memory is its own mappings, never malloc's: so
 * whoever plays the events back can tell malloc's memory from it. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/format/event_columns.h"
#include "index.h"

struct mw_packed; /* one mapping of its own */

/* NULL: a line in err, which has MW_REPLAY_ERROR bytes. Lines don't name the file. */
struct mw_packed *mw_packed_open(const char *path, char *err);
void mw_packed_close(struct mw_packed *);
/*
 * The next event, but no THREAD: an event has its thread. ref is the block's birth, numbered from 1 as they
 * come; an event that ends a life (FREE, FREE_LARGE, REALLOC: `from`) or names one (RESIDENT) names a birth that
 * lives. Ticks never go back. False: the end, or an error: a line in err then, else "".
 */
struct mw_packed_event {
	struct mw_trace_event is; /* of REALLOC: ref is the new birth, extra is `from` */
	uint64_t from;            /* REALLOC: the birth that ends; else 0 */
	/*
	 * Of a birth of MW_TRACE_LARGE bytes or more, the most of its pages that the app had in memory, as
	 * far as known. UINT64_MAX: not known.
	 */
	uint64_t pages;
	/*
	 * The calling thread: 0 is the main thread, which also allocates the blocks that lived when the recording
	 * began; 1, 2, … in the order of their first calls. Less than the sums' threads.
	 */
	uint32_t thread;
	/*
	 * The block's place among those that live: less than the sums' live_most. A REALLOC keeps it. The
	 * birth after a block's end may have it.
	 */
	uint32_t slot;
};
bool mw_packed_next(struct mw_packed *, struct mw_packed_event *, char *err);

/* The recorded curve: all samples, in order. They stay as long as the reader. */
const struct mw_trace_sample *mw_packed_samples(struct mw_packed *, size_t *n);
/* The text of META, NUL-terminated: JSON. "": none. */
const char *mw_packed_meta(struct mw_packed *);
/*
 * Sums from the packed file's META. first and last: ticks of the first and last event. events: without THREAD.
 * live_most: the most blocks that live at a time.
 */
struct mw_packed_sums {
	uint64_t ticks_per_second, first, last, events, births, live_most;
	uint32_t threads;
};
const struct mw_packed_sums *mw_packed_sums(struct mw_packed *);
/* Events read so far, and in all: for a progress bar. */
void mw_packed_progress(struct mw_packed *, uint64_t *at, uint64_t *of);

/* Where its frames are. It stays as long as the reader. */
const struct mw_index *mw_packed_index(struct mw_packed *);
