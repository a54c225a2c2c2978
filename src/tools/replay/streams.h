/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * streams.h - the streams of a recorded file: the events of each, in its order.
 *
 * Of each stream one frame is expanded at a time. Missing or broken frames are a loss, and are counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/format/event_columns.h"
#include "index.h"

#define MW_NO_THREAD UINT32_MAX

struct mw_stream {
	const struct mw_at *frames, *frame; /* all, and the one that `next` is from */
	size_t n, at;       /* at: the frame to be opened next */
	struct mw_columns_reader columns;
	uint8_t *room;
	size_t room_bytes;
	struct mw_trace_event next; /* no THREAD; valid unless ended */
	bool ended;
	uint64_t tid;  /* of the thread whose call `next` is; 0: not known */
	uint32_t thread; /* its number, or MW_NO_THREAD: whoever counts threads gives it one */
	/* for whoever merges streams */
	uint64_t key;
	size_t place;
	uint64_t waits_for;
	bool waits;
};

struct mw_streams {
	const struct mw_index *index;
	struct mw_array frames, streams; /* struct mw_at by stream and sequence; struct mw_stream */
	uint64_t lost;    /* events, as far as known, of the frames read so far */
	uint64_t missing;   /* frames that are missing or broken, of those */
	bool no_memory;
};

/* Each stream's first event is its `next`. False: no memory. The index stays open meanwhile. */
bool mw_streams_open(struct mw_streams *, const struct mw_index *);
void mw_streams_close(struct mw_streams *);
/* Reads the stream's next event. */
void mw_stream_step(struct mw_streams *, struct mw_stream *);
