/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * format.h - the file of a recording: every call of malloc and its relatives, in order.
 *
 *   file  = "mwtrace1", then frames
 *   frame = struct mw_trace_frame, then `stored` bytes: its contents, compressed or not
 *
 * All numbers are little-endian. A frame stands for itself: a file that was cut anywhere, or whose writer
 * was killed, is good up to its last whole frame. Unknown types of frames are skipped.
 *
 * A recorded file has a stream for each shard of the tracker (tracker/table/shard.h). A stream is the calls
 * of one thread after another, in their order. Frames of a stream are numbered from 0 on. Between streams only
 * time tells the order, and the life of a block: it ends before its ref is used again.
 *
 * A packed file has one stream, number 0, with all calls in one order, and names a block by its birth.
 *
 * Events are kept in columns, so that they compress well: see event_columns.h.
 */
#pragma once

#include <stdint.h>

#define MW_TRACE_MAGIC "mwtrace1"
#define MW_FRAME_MAGIC 0x4652776du /* "mwRF" */

enum mw_frame_type {
	MW_FRAME_META = 1,  /* JSON: of the process; the first frame. Keys: doc/recording.md */
	MW_FRAME_EVENTS,    /* of a recorded file */
	MW_FRAME_LOCATIONS, /* names: u32 id, u32 length, the bytes; and again */
	MW_FRAME_SAMPLES,   /* struct mw_trace_sample, one after the other */
	MW_FRAME_END,       /* JSON: why the recording ended, and its sums; the last frame */
	MW_FRAME_PACKED,    /* events of a packed file */
	MW_FRAME_PAGES /* of a packed file, behind its events: pages of large births, see tools/replay/large_pages.h */
};

enum { MW_FRAME_ZSTD = 1 }; /* flags: the contents are a zstd frame, else they are as they are */
/* The most bytes of contents, compressed or not: of PACKED, and of any other frame */
enum { MW_FRAME_PACKED_MOST = 8 << 20, MW_FRAME_MOST = 1 << 20 };

struct mw_trace_frame {
	uint32_t magic; /* MW_FRAME_MAGIC */
	uint8_t type, flags;
	uint16_t zero;
	uint32_t stream;
	uint32_t sequence; /* of the stream's frames of EVENTS; else 0 */
	uint32_t stored; /* bytes that follow */
	uint32_t raw; /* bytes of contents */
	uint32_t events;
	uint32_t lost; /* events of this stream that were dropped before these, and after the last frame's */
	uint64_t ticks; /* when the frame was made; no event in it is later. PACKED: of the event before it */
	uint64_t check; /* XXH3_64bits of the `stored` bytes; the seed: XXH3_64bits of this header up to here */
};

/*
 * Events. ref: of the block's record in the tracker, or its birth. Each names the columns it has: event_columns.h.
 * In a tracker's buffer an event is 1 to 3 words of 64 bits:
 *
 *   word 0   ticks, low 32 bits << 32 | ref (28 bits) << 4 | op
 *   word 1   if the op has a size: size << 20 | location (19 bits). Else if it has an extra: the extra
 *   word 2   if the op has both: the extra
 */
enum mw_trace_op {
	MW_OP_NONE,
	MW_OP_MALLOC, /* size, location */
	MW_OP_FREE,
	MW_OP_CALLOC, /* size, location */
	MW_OP_ALIGNED, /* size, location; extra: alignment in bytes */
	MW_OP_REALLOC, /* size, location; extra: the ref that the block had before, or the same */
	MW_OP_FREE_LARGE, /* extra: pages of the block that were in memory */
	MW_OP_LIVE, /* size, location; extra: address. A block from before the recording */
	MW_OP_RESIDENT, /* extra: pages of the block in memory; it lives when the recording ends */
	MW_OP_THREAD, /* extra: the kernel's id of the thread whose calls follow in this stream. No ref */
	MW_OP_THREAD_END, /* no ref */
	MW_OP_TRIM, /* malloc_trim; extra: its argument. No ref */
	MW_OP_OWN, /* size; the tracker's own block in the app's heap, which never ends. No location, no ref */
	MW_OPS
};
#define MW_OP_BITS 4
#define MW_REF_BITS 28
#define MW_EVENT_SIZE_SHIFT 20 /* a location is less than 1 << this */

/* From which size on pages in memory are noted: below, a block counts as used from end to end. */
enum { MW_TRACE_LARGE = 128 << 10 };

/* The recorded process's memory, in bytes. */
struct mw_trace_sample {
	uint64_t ticks;
	uint64_t rss; /* all of the process */
	uint64_t heap; /* in memory of malloc: arenas and blocks of their own, without the tracker's */
	uint64_t live; /* bytes of live blocks, as asked for */
};
