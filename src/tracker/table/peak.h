/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peak.h - what lived at each location when live memory was highest.
 *
 * Each reading of mw_stats looks, as the server does each second or so, and the thread of periodic dumps. A look
 * that finds 2 % more than what is kept replaces it. So what is kept is at most 2 % below the highest sum that a
 * look found; a peak between two looks isn't seen.
 *
 * While a test watches, threads look by themselves: each after a step of MW_STEP bytes at most (track/sample.h),
 * and after each larger block. Any higher sum is kept then. So the peak is right within MW_STEP bytes a thread.
 *
 * A peak is of one epoch: a reset begins a new one, and so does a fork in the child. It takes 8 bytes for
 * each location. It changes under mw_rebasing_lock (snapshot.h), and is read under either lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mw_peak {
	uint64_t bytes; /* live in all; 0: nothing is kept */
	double uptime; /* of the process, in seconds */
};

/*
 * Looks, if `live` bytes are enough more than what is kept; UINT64_MAX: in any case. It takes all sums then.
 * It never waits: while another thread looks, or has the lock, it does nothing. The caller is quiet and
 * holds no lock.
 */
void mw_peak_look(uint64_t live, double uptime);
/*
 * on: forgets what is kept, looks, and watches from then on. Else it looks for the last time; what is kept
 * stays. One watcher at a time; threads may be anywhere meanwhile. The caller is quiet and holds no lock.
 */
void mw_peak_watch(bool on, double uptime);
extern uint32_t mw_peak_watched; /* relaxed; 0: no */
/*
 * While watched: a thread allocated so many bytes at most since it last said so. True: all threads together may
 * have allocated as much as live memory was below the peak, so mw_peak_look_watched is due. Any thread.
 */
bool mw_peak_due(uint64_t bytes);
/* As mw_peak_look in any case. The app may hold any lock. */
void mw_peak_look_watched(void);
/* Takes either lock itself. */
struct mw_peak mw_peak_kept(void);

/* Under a lock: bytes that lived at a location's id then. */
uint64_t mw_peak_at(uint32_t id);
/* Under mw_rebasing_lock: id's tenant goes, and its bytes are those of `into`. */
void mw_peak_fold(uint32_t id, uint32_t into);
/* Under mw_rebasing_lock: nothing is kept. forked: in a forked child. */
void mw_peak_forget(bool forked);
