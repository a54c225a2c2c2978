/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mark.h - growth since a moment that somebody chose: what was live at each
 * location then. Independent of resets: those are the tracker's.
 *
 * All zero: no mark. A location is known by its id and a hash of its text,
 * since ids are used again. Not thread-safe: whoever owns the struct calls.
 */
#ifndef MW_REPORT_MARK_H
#define MW_REPORT_MARK_H

#include "report.h"

/* Ids from here on have no mark and don't travel; the table has 2^20. */
#define MW_ID_END ((uint32_t)1 << 22)

/* One past the largest id of s below MW_ID_END, but n at least. */
size_t mw_ids_end(const struct mw_snapshot *s, size_t n);

struct mw_mark_base {
	uint64_t hash; /* 0: nothing was live there */
	uint64_t live_bytes;
};

struct mw_mark {
	bool set;
	double at;      /* uptime in seconds */
	uint64_t turns; /* grows when the mark is set or taken away */
	size_t n;       /* base[id], owned */
	struct mw_mark_base *base;
};

/* Of the location's text, never 0. */
uint64_t mw_location_hash(const struct mw_row *);

/* Growth counts from these rows. 0; -1: no memory, the mark is as it was. */
int mw_mark_set(struct mw_mark *, const struct mw_snapshot *, double uptime);
/* No mark; its memory is freed. */
void mw_mark_clear(struct mw_mark *);
/* Live bytes now less those at the mark; 0 without one. hash: the row's. */
int64_t mw_mark_growth(const struct mw_mark *, const struct mw_row *, uint64_t hash);

#endif
