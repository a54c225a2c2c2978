/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * self.h - a process's facts about itself, for its family: RSS, a short curve of its
 * memory, and its verdict. It travels on the wire (wire.h) with /family/self.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mw_history;

enum {
	MW_SELF_N = 48,     /* points of a curve at most */
	MW_SELF_STEP = 20,  /* seconds between them */
	MW_SELF_KIND = 16   /* bytes of a verdict's kind, its NUL included */
};

/* A point of the curve, in KiB; MW_KIB_UNKNOWN: not known. */
struct mw_spot {
	uint32_t t; /* seconds of uptime */
	uint32_t rss, live;
};

/* All zero: the process said nothing of itself. */
struct mw_self {
	uint64_t rss;             /* bytes; 0: not known */
	char kind[MW_SELF_KIND];  /* the verdict's: letters; "": there is none */
	int64_t rate; /* of what the verdict names, in bytes a minute; above 0 also if it is little */
	const char *sentence; /* the verdict's; NULL: there is none; borrowed */
	size_t n;
	struct mw_spot v[MW_SELF_N]; /* oldest first */
};

/*
 * Fills the curve: of the last 15 minutes the last point of every MW_SELF_STEP seconds. A point
 * but the last one stays as it is while time goes on.
 */
void mw_self_curve(struct mw_self *, const struct mw_history *);

/*
 * How fast live bytes grow, in bytes a minute: the median of the slopes between all pairs of points
 * (Theil-Sen), which no single step or tooth moves. False: too little was seen.
 */
bool mw_self_slope(const struct mw_self *, double *slope);

/* Sorts v, and returns its median; 0 if n is 0. */
double mw_median(double *v, size_t n);
