/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer.h - a recording under way: shared by the files of this room. The recorder's thread alone. */
#pragma once

#include "file.h"
#include "record.h"
#include "recording/format/event_columns.h"
#include "recording/format/frame.h"

enum {
	MW_RECORD_STREAMS = 1 << 16, /* threads at once, over all; those beyond share the last number */
	MW_RECORD_EVENTS = 1 << 14, /* of a frame: more than a buffer has */
	MW_RECORD_LEVEL = 1 /* of zstd */
};

struct mw_writer {
	const struct mw_record_job *job;
	struct mw_record_file file;
	struct mw_codec codec;
	void *codec_memory;
	size_t codec_bytes;
	uint64_t ticks_per_second;
	uint64_t ticks; /* now, as of the last look */
	uint64_t begin_ticks;
	uint64_t unix_begin_us; /* when that was */
	uint32_t sequences[MW_RECORD_STREAMS]; /* by stream: its next frame's number */
	uint32_t rows[MW_ID_END]; /* by id, while names are written: the row's number, from 1 on */
	uint8_t named[MW_ID_END / 8]; /* by id of a location: its name is in the file */
	uint8_t seen[MW_ID_END / 8]; /* or only an event of it */
	bool unnamed; /* some are seen and not named */
	uint64_t events, lost;
	struct mw_columns columns;
	uint8_t columns_memory[MW_COLUMNS_BYTES(MW_RECORD_EVENTS)];
	uint64_t frame_ticks; /* of the frame that the columns are for */
	uint8_t contents[MW_FRAME_MOST];
	uint8_t frame[MW_FRAME_MOST + (64 << 10)];
};

_Static_assert(MW_COLUMNS_BYTES(MW_RECORD_EVENTS) <= MW_FRAME_MOST, "a full frame");

/* writer.c: looks at the clock, sets the coarse one, and returns the ticks. */
uint64_t mw_writer_tick(struct mw_writer *);
/* Writes a frame whose header has type, stream, sequence, events, lost and ticks. False: the file failed. */
bool mw_writer_frame(struct mw_writer *, struct mw_trace_frame *, const void *contents, size_t bytes);
/* An event of the stream 0, which is the recorder's own; flush writes those so far. */
bool mw_writer_own(struct mw_writer *, const struct mw_trace_event *);
bool mw_writer_own_flush(struct mw_writer *);
/* Writes a piece of a thread's events. */
bool mw_writer_piece(struct mw_writer *, const struct mw_record_piece *);
/* Writes the last frame of events. It counts those of all `dropped` that no frame before it counts. */
bool mw_writer_lost(struct mw_writer *, uint64_t dropped);

/* text_frames.c: META, END, and the names of locations that events have. */
bool mw_writer_meta(struct mw_writer *);
bool mw_writer_end(struct mw_writer *, enum mw_record_reason, const char *why);
bool mw_writer_names(struct mw_writer *);

/* write_blocks.c: the blocks that live as the recording begins; the pages of large ones as it ends. */
bool mw_writer_live(struct mw_writer *);
bool mw_writer_resident(struct mw_writer *);
/* A sample of the process's memory. */
bool mw_writer_sample(struct mw_writer *);
