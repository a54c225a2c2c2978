/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packed.h - a packed recording read from end to end, one event after the other.
 *
 * The file is mapped and read in order. The reader's memory is its own mappings, never malloc's: so
 * whoever plays the events back can tell malloc's memory from it. One thread.
 */
#ifndef MW_REPLAY_PACKED_H
#define MW_REPLAY_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/columns.h"

enum { MW_REPLAY_ERROR = 256 };

struct mw_packed; /* one mapping of its own */

/* NULL: a line in err, which has MW_REPLAY_ERROR bytes. */
struct mw_packed *mw_packed_open(const char *path, char *err);
void mw_packed_close(struct mw_packed *);
/*
 * The next event. ref is the block's birth, numbered from 1 as they come; an event that ends a life (FREE,
 * FREE_LARGE, REALLOC: `from`) or names one (RESIDENT) names a birth that lives. False: the end, or an error: a line in err then, else "".
 * pages: of a birth of MW_TRACE_LARGE bytes or more, the most of its pages that the app had in memory, as
 * far as known; UINT64_MAX: not known.
 */
struct mw_packed_event {
	struct mw_trace_event is; /* of REALLOC: ref is the new birth */
	uint64_t from;            /* REALLOC: the birth that ends */
	uint64_t pages;
	uint32_t thread;          /* whose call it is: 0, 1, … in the order of their first calls */
};
bool mw_packed_next(struct mw_packed *, struct mw_packed_event *, char *err);

/* The recorded curve: all samples, in order. They stay as long as the reader. */
const struct mw_trace_sample *mw_packed_samples(struct mw_packed *, size_t *n);
/* The text of META and END, NUL-terminated: JSON. "": none. */
const char *mw_packed_meta(struct mw_packed *);
const char *mw_packed_end(struct mw_packed *);
/* Sums from the packed file's META: ticks a second, first and last ticks, events, births, threads. */
struct mw_packed_sums {
	uint64_t ticks_per_second, first, last, events, births, live_most;
	uint32_t threads;
};
const struct mw_packed_sums *mw_packed_sums(struct mw_packed *);
/* Bytes of the file read so far, and in all: for a progress bar. */
void mw_packed_progress(struct mw_packed *, uint64_t *at, uint64_t *of);

#endif
