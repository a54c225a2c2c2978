/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.h - frames made and read, with zstd if it is there.
 *
 * libzstd is loaded by its name when a codec is made. It works in memory that the caller gives, and
 * never allocates. Without it frames are stored as they are, and compressed ones can't be read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct mw_codec {
	/* the contexts are in the caller's memory */
	const struct mw_zstd *zstd; /* the library's functions; NULL: not there */
	void *compress, *expand; /* contexts, or NULL */
	int level;
};

/*
 * Bytes of memory that mw_codec_open needs for compression at levels up to this one, and for expansion. 0: there
 * is no libzstd. Loads libzstd, as mw_codec_open does: by dlopen, which allocates.
 */
size_t mw_codec_bytes(int level, bool compress, bool expand);
/*
 * memory: 8-byte aligned, mw_codec_bytes long; the codec's as long as it is used. With too few bytes (or 0) there is
 * no libzstd in it. It can't fail. A codec is for one thread at a time.
 */
void mw_codec_open(struct mw_codec *, int level, bool compress, bool expand, void *memory, size_t bytes);

/*
 * Writes a whole frame to `to`: header and contents, compressed if that is shorter. `f` has type, stream,
 * sequence, events, lost and ticks; the rest is filled in. Returns its length.
 */
size_t mw_frame_write(const struct mw_codec *, struct mw_trace_frame *f, const void *contents,
		      size_t raw, uint8_t *to);

enum mw_frame_is { MW_FRAME_OK, MW_FRAME_CUT, MW_FRAME_BROKEN, MW_FRAME_NO_ZSTD };
/*
 * Reads the frame at `at`, of which `bytes` bytes are there. OK: *f is its header, *contents has f->raw bytes: in
 * `room` (f->raw bytes: MW_FRAME_PACKED_MOST at most), or at `at` itself. *whole: bytes to the next frame. room NULL: contents aren't
 * expanded, only checked, and *contents is NULL. NO_ZSTD: *f and *whole are there.
 */
enum mw_frame_is mw_frame_read(const struct mw_codec *, const uint8_t *at, size_t bytes,
			       struct mw_trace_frame *f, const uint8_t **contents, uint8_t *room,
			       size_t *whole);
