/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trend.h - the course of one figure over time: flat, rising since when, teeth, a step.
 *
 * Pure functions: no state, no allocation, no locale. A series is some 10 to 2,000 points.
 *
 * Memory that waits for a collection comes and goes above a floor. Only the floor counts as
 * growth:
 *  - Each of at most MW_TREND_BINS spans of time is represented by its lowest point.
 *  - If three or more teeth are seen in these, the troughs between the teeth are the floor.
 *  - A rise counts from the earliest change of slope from which on it is steady: each quarter of
 *    the time has a tenth of the gain at least, and Mann-Kendall's test excludes chance. Time before
 *    that in which nothing rose isn't part of it. Nor is what rose before such time and took no
 *    longer than that: a process's start. It began where the lines before and after meet.
 * Rates are Theil and Sen's: medians of slopes, which single outliers don't move.
 */
#ifndef MW_REPORT_LIVE_TREND_H
#define MW_REPORT_LIVE_TREND_H

#include <stdbool.h>
#include <stddef.h>

enum {
	MW_TREND_BINS = 90,
	MW_TREND_SECONDS = 30 /* that a process or a curve is seen before anything is said of it */
};

enum mw_course {
	MW_COURSE_UNKNOWN, /* fewer than five points */
	MW_COURSE_FLAT,
	MW_COURSE_RISES,
	MW_COURSE_FALLS,
	MW_COURSE_TEETH, /* up and down; the floor neither rises nor falls */
	MW_COURSE_ROSE,  /* rose, then stopped */
	MW_COURSE_STEP   /* changed within a short time, then stayed */
};

/* Times as in the series, sizes in its unit. */
struct mw_trend {
	enum mw_course course;
	double since;      /* begin of the present course */
	double rate;       /* of the floor, in units a second; RISES and FALLS only */
	double gain;       /* RISES, FALLS: since then. ROSE, STEP: by the change before. Else 0 */
	double begun;      /* ROSE, STEP: begin of the change; else as since */
	double low, high;  /* of the floor's points: least and most */
	double level;      /* of the floor, at the end */
	double confidence; /* 0 to 1 */
	bool slowing;      /* RISES: the last quarter gained less than half of the first one's */
	bool teeth;        /* the floor is that of teeth */
};

/*
 * t[n] ascends; v[n] may have NaN: not known. Points outside [from, to] don't count.
 * least: smaller changes are noise to the reader.
 */
void mw_trend_of(struct mw_trend *, const double *t, const double *v, size_t n, double from, double to,
		 double least);

/*
 * The change of the floor over [from, to]: the least in the last fifth of the time, less the least
 * in the first one. NaN: one of the two is not known.
 */
double mw_trend_change(const double *t, const double *v, size_t n, double from, double to);
/*
 * The value at `to`, less that at `from`, or less the first one that is known; a value holds until
 * the next point. For what is no steady course.
 */
double mw_trend_difference(const double *t, const double *v, size_t n, double from, double to);
/*
 * The rise over [from, to] of what rises steadily, by the floors of its fifths. A step within one
 * fifth doesn't count: what was allocated at the start of a process is one.
 */
double mw_trend_rise(const double *t, const double *v, size_t n, double from, double to);
/*
 * The sure part of that rise. The points of teeth may miss the troughs, and their floor then rises
 * by chance. So a value that falls by half of its rise in between must rise by its course, too.
 */
double mw_trend_sure_rise(const double *t, const double *v, size_t n, double from, double to, double rise);
/*
 * The rank of one curve among many: the sure rise over [from, to], but no more than the rate of the
 * later part gives. A curve that rose only when the process began gets 0. A curve that falls by a
 * hundredth or more gets the change of its floor, which is negative. All values are known.
 */
double mw_trend_rank(const double *t, const double *v, size_t n, double from, double to);

/* The larger of two numbers; b if either is NaN. */
static inline double mw_larger(double a, double b)
{
	return a > b ? a : b;
}

#endif
