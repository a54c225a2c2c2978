/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * write_file.h - a recording's file, written frame by frame.
 *
 * It is written beside its place, and moved there when it is whole: whoever looks finds all of it, or what was there.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/format/frame.h"

struct mw_writer {
	FILE *file;
	char beside[PATH_MAX];
	struct mw_codec codec;
	void *codec_memory;
	size_t codec_bytes;
	bool failed; /* errno of the first failure is in `why` */
	int why;
	uint8_t contents[MW_FRAME_PACKED_MOST];   /* whoever writes a frame puts its contents here */
	uint8_t room[MW_FRAME_PACKED_MOST + 4096]; /* the frame as it's written */
};

/*
 * Returns what is wrong, or NULL. level: how closely zstd compresses. A file that is too large is an error, and
 * sends no signal.
 */
const char *mw_writer_open(struct mw_writer *, const char *path, int level);
/* Ends the file, and moves it to its place, or (keep: false) removes it. NULL, or a fault: it removes the file then. */
const char *mw_writer_close(struct mw_writer *, const char *path, bool keep);
/* Writes a frame with the first `bytes` of `contents`. plain: it isn't compressed, and so has a known length. */
void mw_writer_frame(struct mw_writer *, struct mw_trace_frame *, size_t bytes);
void mw_writer_plain(struct mw_writer *, struct mw_trace_frame *, size_t bytes);
/* Writes the file's first frame again, as long as before, and plain. No frame follows. */
void mw_writer_again(struct mw_writer *, struct mw_trace_frame *, size_t bytes);
