/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mark.h - growth since a chosen moment: the bytes live at each location then.
 * Resets, which are the tracker's, don't change it.
 *
 * All zero: no mark. An id and a hash of the text identify a location, since
 * ids are reused. Not thread-safe: the owner of the struct makes all calls.
 */
#pragma once

#include "shared/report/report.h"

/* One past the largest id of s; at least n. An id from MW_ID_END on has no mark and doesn't travel. */
size_t mw_ids_end(const struct mw_snapshot *s, size_t n);

struct mw_mark_base {
	uint64_t hash; /* 0: nothing was live there */
	uint64_t live_bytes;
};

struct mw_mark {
	bool set;
	double at;      /* uptime in seconds */
	uint64_t turns; /* grows when the mark is set or cleared */
	size_t n;       /* base[id], owned */
	struct mw_mark_base *base;
};

/* A hash of the location's text, never 0. */
uint64_t mw_location_hash(const struct mw_row *);

/* Growth counts from these rows. 0; -1: no memory, the mark is as it was. */
int mw_mark_set(struct mw_mark *, const struct mw_snapshot *, double uptime);
/* No mark; its memory is freed. */
void mw_mark_clear(struct mw_mark *);
/* Live bytes now less those at the mark; 0 without a mark. hash: the row's. */
int64_t mw_mark_growth(const struct mw_mark *, const struct mw_row *, uint64_t hash);
