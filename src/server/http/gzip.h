/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gzip.h - compresses answers for clients that accept it: whole ones, and the stream of events.
 *
 * zlib does it, with a window of 4 KiB: 48 KiB while it lasts. Text of many similar lines becomes a
 * fifth. Without memory an answer goes out as it is.
 *
 * Not thread-safe: the owner of a struct makes all calls, in quiet mode.
 */
#pragma once

#include <stdbool.h>
#include <zlib.h>

#include "message.h"

enum { MW_GZIP_LEAST = 1024 }; /* bytes; less isn't worth it */

/* Compresses *b, if it gets smaller by that. False: it is as it was. */
bool mw_gzip_whole(struct mw_buf *b);
/* Compresses *b, of any length. False: no memory, and it is as it was. */
bool mw_gzip_file(struct mw_buf *b);

/* One stream. All zero, then mw_gzip_begin(). */
struct mw_gzip {
	z_stream z;
	bool open;
	bool held; /* zlib has taken bytes whose compressed form it hasn't given yet */
};

/* False: there is no memory. */
bool mw_gzip_begin(struct mw_gzip *);
/*
 * Takes some of the n bytes at p, and sets *took. Returns how many it wrote to `to`: `max` at most,
 * perhaps none yet.
 */
size_t mw_gzip_take(struct mw_gzip *, const char *p, size_t n, size_t *took, char *to, size_t max);
/* Writes what it still holds, so that the client can read all that was taken. 0: all is written. */
size_t mw_gzip_flush(struct mw_gzip *, char *to, size_t max);
/* The same, and the end of the stream: nothing may be taken any more. */
size_t mw_gzip_finish(struct mw_gzip *, char *to, size_t max);
void mw_gzip_end(struct mw_gzip *); /* all zero again */
