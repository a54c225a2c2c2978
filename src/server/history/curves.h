/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * curves.h - the live bytes of the locations that matter, over time, from the server's start.
 *
 * Up to MW_CURVES_N locations are kept: the 64 largest by live bytes, and by change within the last
 * minute, hour and day; then the next ones by live bytes. They are chosen every 10 s; at each step
 * in the first minute, and when live memory jumps. A location that was kept stays while its place
 * isn't needed. The live bytes of all others are the rest: the total less the kept ones.
 *
 * Three grids: 5 s for 15 minutes, 60 s for 24 hours, and the whole time since the start, as in
 * history.h. All values of one moment lie together. The memory comes from the tracker, 64 KiB at a
 * time and only as time goes on: 2.9 MB at most. If the tracker has no more (memory_max), the grids
 * are shorter, or there are none. A forked child's server begins anew in the same memory.
 *
 * Reading the tracker's counts costs more with more locations. It is done less often than every 5 s
 * if it would cost more than MW_CURVES_SHARE of a CPU.
 *
 * All zero at first. Not thread-safe: the owner of the struct makes all calls, in quiet mode.
 */
#pragma once

#include "shared/report/report.h"

enum {
	MW_CURVES_N = 256,
	/* bytes: all kept ones together lack less than that by rounding */
	MW_CURVES_ROUNDING = MW_CURVES_N * 64,
	MW_CURVES_CLASS = MW_CURVES_N / 4, /* kept by each of the four criteria */
	MW_CURVES_STEP = 5,                /* seconds */
	MW_CURVES_CHOICE_STEP = 10,
	MW_CURVES_JUMP = 16, /* a choice is early if live memory has grown by more than this part */
	MW_CURVES_FINE_N = 180,
	MW_CURVES_COARSE_STEP = 60,
	MW_CURVES_COARSE_N = 1440,
	MW_CURVES_LONG_STEP = 240, /* at first */
	MW_CURVES_LONG_N = 360,
	MW_CURVES_PIECE = 63,              /* moments in one piece of memory: 64 KiB */
	MW_CURVES_PIECES = (MW_CURVES_COARSE_N + MW_CURVES_PIECE - 1) / MW_CURVES_PIECE,
	MW_CURVES_BASES = 32768,           /* ids whose change is known */
	MW_CURVES_BASES_PIECE = 2048,
	MW_CURVES_NAMES = 128 << 10,       /* bytes of all names */
	MW_CURVES_POINTS = 300,            /* of a curve that is read */
	MW_CURVES_SHARE = 2000             /* 0.05 % */
};

struct mw_curves_piece;
struct mw_curves_bases;

struct mw_curves_grid {
	uint32_t step; /* seconds; 0: off */
	uint32_t max;  /* moments at most; less without memory */
	uint32_t room; /* moments in the pieces; grows to max */
	uint32_t n;    /* ever added; in the long grid: present */
	bool full;     /* there was no memory for another piece: the room stays */
	bool whole;    /* the long grid */
	struct mw_curves_piece *pieces[MW_CURVES_PIECES];
};

/* A place for a location. */
struct mw_curves_slot {
	char *name; /* owned; NULL: free */
	uint32_t id, stamp;
	uint32_t name_len, file_len;
	enum mw_kind kind;
	bool fresh; /* the name isn't checked against the stamp yet */
	bool gone;  /* its location was retired: 0 bytes since */
	uint32_t last; /* last value, in units */
};

struct mw_curves {
	bool on;
	bool begun;      /* a step was made */
	/* in seconds of uptime */
	uint32_t first;  /* the first step */
	uint32_t next;   /* the next step */
	uint32_t choice; /* the next choice, if it isn't the first minute, and nothing jumps */
	uint32_t choice_wait; /* after what the last one cost, at least */
	uint32_t chosen; /* the last choice */
	uint32_t minute; /* the next rolling of the bases */
	uint64_t names;  /* bytes */
	uint64_t cost;   /* CPU time of the last step in ns */
	uint64_t total;  /* live bytes at the last step */
	struct mw_curves_grid fine, coarse, whole;
	struct mw_curves_bases *bases[MW_CURVES_BASES / MW_CURVES_BASES_PIECE];
	struct mw_curves_slot slots[MW_CURVES_N];
};

/*
 * Begins anew, off or on. Frees the names, unless `lost`: another thread had the struct when this
 * process was forked. The grids' memory is used again.
 */
void mw_curves_start(struct mw_curves *, const struct mw_api *, bool on, bool lost);
/* Makes a step if one is due. */
void mw_curves_second(struct mw_curves *, const struct mw_api *, double uptime);
/* Frees the names. */
void mw_curves_end(struct mw_curves *);

/*
 * One location. Values hold until the next point. Before the first one they aren't known: the
 * location was among the rest, and its first point is no growth. A location that is newer than the
 * server has points of 0 bytes before it. Its n times are the last n of the set's rest_t.
 */
struct mw_curve {
	const char *location;
	uint32_t location_len, file_len;
	enum mw_kind kind;
	uint32_t id; /* MW_ID_NONE: it was retired */
	size_t n;
	const uint32_t *t; /* uptime, ascending */
	const uint64_t *bytes;
};

struct mw_curve_set {
	size_t n;
	struct mw_curve *v;
	size_t rest_n;
	const uint32_t *rest_t;
	const uint64_t *rest_bytes;
	void *owned;
};

/*
 * The curves between `from` and `to`, seconds of uptime: MW_CURVES_POINTS each at most, from the
 * finest grid that reaches back to `from`. A curve begins with its last point before `from`. A
 * location without a point there is left out. 0; -1: no memory, and *set is all zero. Strings and
 * numbers are copies.
 */
int mw_curves_read(const struct mw_curves *, const struct mw_api *, double from, double to,
		   struct mw_curve_set *set);
/* The same of one location, with up to `points` points; the rest is empty. */
int mw_curves_read_one(const struct mw_curves *, const char *location, size_t len, double from,
		       double to, size_t points, struct mw_curve_set *set);
void mw_curves_free_set(struct mw_curve_set *); /* all zero again */

/* A curve as a series of trend.h: fills t[] and v[], which have room for c->n. */
void mw_curve_series(const struct mw_curve *c, double *t, double *v);
/* The points of a set's longest curve, the rest's among them; 0: it has none. */
size_t mw_curves_longest(const struct mw_curve_set *);

/*
 * Appends members of a JSON object, without its braces: from, to, t, rows, rest. Each row is
 * [id,location,file_len,kind,[bytes at each t],rank], as in the events of journal.h; id is null for a
 * location that was retired. The last value of a row holds for all times after it: a row whose values
 * are all the same has one. The rank is mw_trend_rank's of that time, null if it has less than
 * MW_TREND_SECONDS.
 */
void mw_curves_render(struct mw_buf *, const struct mw_curve_set *, double from, double to, size_t points);
