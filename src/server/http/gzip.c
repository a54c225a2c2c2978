/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gzip.h"

#include <stdint.h>
#include <string.h>

enum {
	LEVEL = 4,
	WINDOW_BITS = 12 + 16, /* 4 KiB, and a gzip header */
	MEMORY_LEVEL = 6,
	SLICE = 1 << 30 /* zlib counts in unsigned int */
};

bool mw_gzip_begin(struct mw_gzip *g)
{
	*g = (struct mw_gzip){ 0 };
	g->open = deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) ==
		  Z_OK;
	return g->open;
}

static size_t write_to(struct mw_gzip *g, char *to, size_t max, int how)
{
	unsigned room = max < SLICE ? (unsigned)max : SLICE;

	g->z.next_out = (unsigned char *)to;
	g->z.avail_out = room;
	/* Z_BUF_ERROR: there was nothing to do */
	(void)deflate(&g->z, how);
	return room - g->z.avail_out;
}

size_t mw_gzip_take(struct mw_gzip *g, const char *p, size_t n, size_t *took, char *to, size_t max)
{
	size_t wrote;

	n = n < SLICE ? n : SLICE;
	g->z.next_in = (unsigned char *)(uintptr_t)p;
	g->z.avail_in = (unsigned)n;
	wrote = write_to(g, to, max, Z_NO_FLUSH);
	*took = n - g->z.avail_in;
	g->z.avail_in = 0;
	g->held |= *took > 0;
	return wrote;
}

size_t mw_gzip_flush(struct mw_gzip *g, char *to, size_t max)
{
	size_t wrote;

	if (!g->held)
		return 0;
	wrote = write_to(g, to, max, Z_SYNC_FLUSH);
	g->held = !g->z.avail_out; /* with room left over, all is written */
	return wrote;
}

size_t mw_gzip_finish(struct mw_gzip *g, char *to, size_t max)
{
	return write_to(g, to, max, Z_FINISH);
}

void mw_gzip_end(struct mw_gzip *g)
{
	if (g->open)
		deflateEnd(&g->z);
	*g = (struct mw_gzip){ 0 };
}

/* Replaces *b by its compressed form, unless that is longer than max. */
static bool squeeze(struct mw_buf *b, size_t max)
{
	struct mw_gzip g;
	struct mw_buf small = { 0 };
	size_t done = 0, took, n;
	char piece[4096];

	if (!mw_gzip_begin(&g))
		return false;
	while (done < b->n && !small.failed) {
		n = mw_gzip_take(&g, b->p + done, b->n - done, &took, piece, sizeof(piece));
		done += took;
		mw_buf_add(&small, piece, n);
	}
	while (!small.failed && (n = mw_gzip_finish(&g, piece, sizeof(piece))))
		mw_buf_add(&small, piece, n);
	mw_gzip_end(&g);
	if (small.failed || small.n > max) {
		mw_buf_free(&small);
		return false;
	}
	mw_buf_free(b);
	*b = small;
	return true;
}

bool mw_gzip_whole(struct mw_buf *b)
{
	return b->n >= MW_GZIP_LEAST && squeeze(b, b->n - 1);
}

bool mw_gzip_file(struct mw_buf *b)
{
	return squeeze(b, SIZE_MAX);
}
