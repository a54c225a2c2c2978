/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * look.h - one range of time as the judgement sees it: the course of each part of RSS, and the
 * location that rises by itself.
 *
 * For verdict.c alone. Pure functions, no allocation. Times are seconds of uptime, sizes bytes;
 * NaN is not known.
 */
#ifndef MW_REPORT_LIVE_LOOK_H
#define MW_REPORT_LIVE_LOOK_H

#include "proof.h"
#include "trend.h"
#include "verdict.h"

enum { MW_EXPLODES_SECONDS = 60 };

/*
 * Of a process: any rise in the first of these times may be its start; until the second, a rise that has no one cause
 * may be warming up; until the third, one that slows down.
 */
enum { MW_START_SECONDS = 60, MW_SETTLED_SECONDS = 300, MW_WARMING_SECONDS = 900 };

struct mw_look {
	const struct mw_scale *scale;
	double start;  /* uptime at which the process began */
	double *t, *v; /* the caller's room for the longest series; each call fills it anew */
	double seen;   /* seconds */
	double least;  /* bytes; less is nothing */
	struct mw_trend trend[MW_PARTS_N];
	struct mw_trend line;       /* of `top` */
	const struct mw_curve *top; /* location that rises by itself; NULL: none */
	bool by_line; /* live memory rises, but only that location's rise is likely to stay */
};

/* Fills all but t, v and start. */
void mw_look_at(struct mw_look *, const struct mw_scale *);

/* One part of a point, in KiB; MW_KIB_UNKNOWN: not known. */
uint32_t mw_rss_part_of(const struct mw_point *, enum mw_rss_part);
/* Fills t[] and v[] with a part's series; returns its length. */
size_t mw_look_series(const struct mw_look *, enum mw_rss_part);
/* Fills t[] and v[] with a location's series; returns its length. */
size_t mw_look_curve(const struct mw_look *, const struct mw_curve *);
/* All live memory, at the moments at which the locations are known, if there are any. */
size_t mw_look_total(const struct mw_look *);
/* Of the series in t[] and v[]: the last known value, and that at a time or just before. */
double mw_look_last(const struct mw_look *, size_t n);
double mw_look_value_at(const struct mw_look *, size_t n, double t);

/* Of the series in t[] and v[] in that time; NaN: not known. */
double mw_look_lowest(const struct mw_look *, size_t n, double from, double to);

bool mw_look_is(const struct mw_look *, enum mw_rss_part, enum mw_course);
/*
 * By how much did the floor of the series in t[] and v[] rise from the first third of that time to the last one?
 * 0: not by `least`; or not by a third of that, and by `each` of the rise, from each third to the next.
 */
double mw_look_floor_rise(const struct mw_look *, size_t n, double from, double to, double least,
			  double each);
#define MW_LOOK_STEADILY (1.0 / 6)

typedef double mw_change_fn(const double *t, const double *v, size_t n, double from, double to);
/*
 * The `max` locations that changed most in the window, by `of`, most first; returns their number.
 * *less: the sum of what others lost.
 */
size_t mw_look_changed(const struct mw_look *, double from, double to, mw_change_fn *of,
		       const struct mw_curve **best, double *change, size_t max, double *less);

/* How much a part changed from then to the end of the range, by that measure. */
double mw_look_moved(const struct mw_look *, enum mw_rss_part, double since, mw_change_fn *);
/* The part that changed most from then on, but those whose bits are set; RSS: none did. */
enum mw_rss_part mw_look_most_by(const struct mw_look *, double begun, unsigned but);
/*
 * The part that explains a growth of this scale; RSS: nothing grows. but: the bits of parts whose growth is
 * known not to last, so another one is asked for.
 */
enum mw_rss_part mw_look_grows_by(const struct mw_look *, unsigned but);
/* The trend that stands for that growth. */
const struct mw_trend *mw_look_growth(const struct mw_look *, enum mw_rss_part);
/* Major collections' proof for that growth, which is one of live memory. */
enum mw_proof mw_look_proof(const struct mw_look *, enum mw_rss_part);
/*
 * Has one location at least half of live memory's rise since then, does it rise by itself, and did
 * it never fall? Then it is `top`. If all live memory fell by a sixteenth of its range, the growth is
 * that location's own from here on: others have garbage.
 */
bool mw_look_one_line(struct mw_look *, double since);
/* Did this longer range see the part come and go that high, before a rise that began at `since`? */
bool mw_look_seen_before(const struct mw_look *longer, enum mw_rss_part, double level, double since);
/* The same of the series in t[] and v[], whose trend is *t. */
bool mw_look_came_before(const struct mw_look *longer, size_t n, const struct mw_trend *t, double level,
			 double since);
/* The curve of a location; NULL: this range has none. */
const struct mw_curve *mw_look_find(const struct mw_look *, const char *location, size_t len);
/*
 * The last moment at which the locations are known, and the one a minute before. Both are at
 * scale->to and a minute before if there are no locations.
 */
void mw_look_last_minute(const struct mw_look *, double *from, double *to);
/* Is the part half as large again as MW_EXPLODES_SECONDS ago? Sets *change. */
bool mw_look_explodes(const struct mw_evidence *, const struct mw_look *, enum mw_rss_part, double *change);

#endif
