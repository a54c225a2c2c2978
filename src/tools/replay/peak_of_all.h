/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peak_of_all.h - what lived at each location when the live bytes of some processes were most, in one pass over their events.
 *
 * A row is a location of one process. It keeps what lived there at the highest sum so far: `kept` counts if no
 * higher sum came since it was kept, and else the row hasn't changed since that sum, so `now` is it. So an event
 * costs the same however many rows there are. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mw_peak_amount {
	uint64_t bytes, blocks;
};

struct mw_peak_row {
	struct mw_peak_amount now, kept;
	uint64_t number; /* of the highest sum that `kept` belongs to: mw_peaks.number */
};

/* Zeroed: nothing lives, and nothing ever did. */
struct mw_peaks {
	struct mw_peak_amount now, most;
	uint64_t number; /* how often `most` rose */
};

void mw_peak_begin(struct mw_peaks *, struct mw_peak_row *, uint64_t bytes);
void mw_peak_end(struct mw_peaks *, struct mw_peak_row *, uint64_t bytes);
/* All of the row's blocks end. */
void mw_peak_end_all(struct mw_peaks *, struct mw_peak_row *);
/* After an event, whose parts don't count one by one. True: this sum is the highest so far. */
bool mw_peak_look(struct mw_peaks *);
/* What lived there at the highest sum. */
struct mw_peak_amount mw_peak_of(const struct mw_peaks *, const struct mw_peak_row *);
