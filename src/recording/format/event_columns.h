/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_columns.h - events in columns, as a frame has them.
 *
 * Contents of EVENTS and PACKED: six columns, each a u32 with its length in bytes and then its bytes:
 *
 *   ops        a byte for each event
 *   times      for each event, zigzag varint: ticks less those of the event before (a frame's first: less
 *              those of its header)
 *   refs       for each event with a ref. EVENTS: zigzag varint: ref less the ref before (first: less 0).
 *              PACKED: only events that end or name a block, as varint: births so far less the
 *              block's birth (0: the youngest). A birth has none: births are numbered as they come, from 1 on
 *   sizes      varint, of each event with a size
 *   locations  of each event with a location, zigzag varint: less the location before (first: less 0)
 *   extras     varint, of each event with an extra. Of a REALLOC, EVENTS: zigzag varint: the extra less
 *              its ref. PACKED: none, for its `refs` is the block that ends
 *
 * Neither function allocates, locks or fails but as said. Any thread, each on its own struct.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct mw_trace_event {
	uint64_t ticks; /* whole: not only the low bits */
	uint64_t ref, size, extra; /* packed, of a REALLOC: extra is the birth that ends */
	uint32_t location;
	uint8_t op; /* enum mw_trace_op */
};

/* An op's columns. */
bool mw_op_has_ref(unsigned op);
bool mw_op_has_size(unsigned op);     /* and a location, but for MW_OP_OWN */
bool mw_op_has_extra(unsigned op);
/* Does it begin a block's life? REALLOC does, and ends another's. That of an OWN has no ref, and never ends. */
bool mw_op_is_birth(unsigned op);

enum {
	MW_COLUMNS = 6,
	MW_NUMBER_MOST = 10, /* bytes of a number in a column */
	MW_FRAME_EVENTS_MOST = 1 << 17
};

/* The memory that columns of so many events need: what a frame's contents may have, too. */
#define MW_COLUMNS_BYTES(events) \
	((size_t)MW_COLUMNS * (sizeof(uint32_t) + (size_t)MW_NUMBER_MOST * (events)))

struct mw_columns {
	bool packed;
	uint32_t events, most;
	uint64_t ticks, ref, location; /* of the event before */
	uint64_t births; /* PACKED: so far, over all frames; the caller keeps it between frames */
	size_t used[MW_COLUMNS];
	uint8_t *bytes[MW_COLUMNS];
};

/*
 * Gives columns their memory, MW_COLUMNS_BYTES(most), which stays the caller's. most: events of a frame,
 * MW_FRAME_EVENTS_MOST at most. More make a smaller file. `births` becomes 0.
 */
void mw_columns_use(struct mw_columns *, uint32_t most, uint8_t *memory);
/* Begins a frame whose header will have these ticks. `births` stays as it is. */
void mw_columns_begin(struct mw_columns *, bool packed, uint64_t ticks);
/*
 * Adds an event, whose numbers are within the limits of format.h. In a packed frame the ref of a birth is
 * ignored, and other refs are births that there were. False: the frame is full, and the event isn't in it.
 */
bool mw_columns_add(struct mw_columns *, const struct mw_trace_event *);
/* Writes the contents to `to`, which has room for MW_COLUMNS_BYTES of its events. Returns their length. */
size_t mw_columns_write(const struct mw_columns *, uint8_t *to);

/* Reads contents, which anybody may have written. */
struct mw_columns_reader {
	bool packed;
	uint32_t left; /* events not read yet */
	uint64_t ticks, ref, location, births;
	const uint8_t *at[MW_COLUMNS], *end[MW_COLUMNS];
};
/* False: the columns don't fit into `bytes`. `births` stays as it is: 0 before the first frame. */
bool mw_columns_open(struct mw_columns_reader *, bool packed, const uint8_t *contents, size_t bytes,
		     uint32_t events, uint64_t ticks);
/*
 * The next event, within the limits of format.h. False: there is none, or (left > 0) the contents are broken.
 * In a packed frame `ref` is a birth, from 1 on; an event that names a birth not there yet is broken.
 */
bool mw_columns_next(struct mw_columns_reader *, struct mw_trace_event *);
