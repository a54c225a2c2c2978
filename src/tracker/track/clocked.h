/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clocked.h - what a call of malloc and of free costs here: the tracker's part of some calls, by the processor's counter.
 *
 * Now and then a step's end (sample.h) lets its thread carry MW_PERMIT_CLOCKED. No way of a call takes that for the present
 * permit, so the next calls come to mw_admit_none and mw_free_none. These do them again by the usual way, between
 * two readings of the counter. Other calls pay nothing. Any other way in takes the
 * present permit up, and no more calls are clocked until the next time.
 *
 * The first calls of such a row aren't noted: the step's own work has emptied the caches. Neither is a call that
 * took so long that another thread ran meanwhile.
 *
 * The time contains neither the allocator's own work nor what the app loses by the lines of cache that the tracker takes.
 */
#pragma once

#include "tracker/table/shard.h"

/* Of the calls noted so far, in this process or in those that forked it. */
struct mw_clocked {
	uint64_t allocs, frees;
	double alloc_ns, free_ns; /* sums; without the counter's own time */
};

/* Before the first thread, once the time is known (quick.h). Where that is coarse no call is clocked. */
void mw_clocked_start(void);
/* A step of t's has ended, or a free of t's took the long way; t isn't busy. One step in 16 begins a row, one in 256
   later, as does one such free in 256. */
void mw_clocked_step(struct mw_shard *t);
void mw_clocked_cold_free(struct mw_shard *t);
/* Any thread: relaxed. All zero: no call was clocked. */
void mw_clocked_read(struct mw_clocked *);

/* A call that is clocked. */
struct mw_clocked_call {
	uint64_t nothing,
		from; /* ticks: from one reading to the next, with nothing in between; when it began */
};
/* Around the usual way of a call, by the thread that carried MW_PERMIT_CLOCKED and isn't busy now. */
void mw_clocked_begin(struct mw_clocked_call *);
void mw_clocked_end(struct mw_shard *t, const struct mw_clocked_call *, bool is_free);
