/* SPDX-License-Identifier: GPL-2.0-or-later */
/* play_samples.h - when malloc's memory is measured, and what comes of it. See play.h for the lines. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packed.h"

struct mw_play_samples {
	const struct mw_packed_sums *sums;
	const struct mw_trace_sample *v; /* recorded; NULL: none */
	uint64_t next, end, step; /* the one that comes next, and one past the last one */
	uint64_t last_ticks, last_rss, peak;
	double area; /* bytes times ticks */
	uint64_t taken, first_ticks;
};

/* Writes the recorded ones. */
void mw_play_samples_begin(struct mw_play_samples *, struct mw_packed *);
/* The ticks of the next one; UINT64_MAX: there is none. */
uint64_t mw_play_samples_due(const struct mw_play_samples *);
/* Measures and writes it. */
void mw_play_samples_take(struct mw_play_samples *, uint64_t live);
/* Over time. */
double mw_play_samples_mean(const struct mw_play_samples *);

/* Seconds since the recording began. */
double mw_play_seconds(const struct mw_packed_sums *, uint64_t ticks);

/* A line to stdout, as printf(3). Nothing is buffered. The process ends once its reader is gone. */
void mw_play_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
