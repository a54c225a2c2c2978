/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_cost.h - what tracking takes of the process's CPU time: lately, and without a table to be believed.
 *
 *   calls    the allocations and frees of that time, each at the mean of those that were clocked (mw_stats.clocked_*)
 *   samples  the time of samples: of stacks, and of Ruby's objects
 *   threads  the CPU time of the tracker's own threads, with that of the pages they answer with
 *
 * Two things aren't counted: the time of a forked child that looks for holders, and what the app loses because the
 * tracker's memory takes room in the caches.
 *
 * Not thread-safe: the owner of the struct makes all calls.
 */
#pragma once

#include "shared/report/report.h"

enum { MW_OWN_COST_SECONDS = 30 }; /* it is of the last 30 to 60 s, or since the first reading */

struct mw_own_cost_at {
	double t; /* uptime */
	uint64_t process_ns, samples_ns, threads_ns; /* CPU time so far */
	uint64_t allocs, frees; /* since the start */
	bool exact; /* allocations are counted one by one, as at all readings since `from` */
};

struct mw_own_cost {
	double seconds; /* of uptime that it is about; 0: nothing is known yet */
	uint64_t process_ns, samples_ns, threads_ns; /* in these */
	bool calls_known; /* false: too few were clocked, or allocations are sampled */
	double calls_ns, ns; /* ns: of the three together. Both 0 unless calls_known */
	/* its own: the reading that the time is counted from, and the next one of these, 30 s later; were there any */
	struct mw_own_cost_at from, last;
	bool begun;
};

/* Takes a reading; s: just read. objects_ns: CPU time of samples of objects so far. */
void mw_own_cost_read(struct mw_own_cost *, const struct mw_stats *s, uint64_t objects_ns);
/* Per cent of the process's CPU time; < 0: not known. */
double mw_own_cost_percent(const struct mw_own_cost *);
/* Per cent of the time of one CPU; < 0: not known. */
double mw_own_cost_of_cpu(const struct mw_own_cost *);
/* Appends the member "own" of /stats.json; cost: NULL: not known. */
void mw_own_cost_json(struct mw_buf *, const struct mw_own_cost *, const struct mw_stats *);

/* The uses of the tracker's memory: a word for programs, and one with its explanation for people. */
struct mw_held_name {
	const char *name, *title, *about;
};
extern const struct mw_held_name mw_held_names[MW_HELD_N];
