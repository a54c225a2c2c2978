/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * index.h - a recording's file, mapped, and where its whole frames are.
 *
 * The file may be cut, broken, or not a recording at all. The index skips anything else up to the next
 * whole frame. Memory is the index's own, from the kernel (mem.h). One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/format/frame.h"
#include "mem.h"

enum { MW_REPLAY_ERROR = 256 };

/* A whole frame: its check is right. Its contents may be broken nevertheless. */
struct mw_at {
	uint64_t offset, ticks;
	uint32_t stream, sequence, events, lost, raw;
	uint8_t type;
};

struct mw_index {
	const uint8_t *map;
	uint64_t bytes;
	struct mw_codec codec;
	void *codec_memory;
	size_t codec_bytes;
	struct mw_array frames;  /* struct mw_at, in the order of the file */
	struct mw_array samples; /* struct mw_trace_sample, by time */
	struct mw_text {
		char *s; /* JSON, or "" */
		size_t bytes;
	} meta, end;
	uint64_t broken;  /* bytes between whole frames */
	uint64_t cut;   /* bytes behind the last one */
};

/* False: a line in err, of MW_REPLAY_ERROR bytes, without the file's name. Nothing is left to close then. */
bool mw_index_open(struct mw_index *, const char *path, char *err);
void mw_index_close(struct mw_index *);
/*
 * The contents of a frame, a->raw bytes: in the file, or in room, which has as many. NULL: they are
 * broken, or the file has changed.
 */
const uint8_t *mw_index_read(const struct mw_index *, const struct mw_at *a, uint8_t *room);
/* One line about what wasn't read, or "". */
void mw_index_trouble(const struct mw_index *, char *line);

static inline const struct mw_at *mw_index_frames(const struct mw_index *x, size_t *n)
{
	*n = x->frames.n;
	return x->frames.p;
}
