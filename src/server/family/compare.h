/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare.h - a process among its siblings: which one stands out. For list.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One process. Siblings have the same forker; a process without one has none. */
struct mw_sibling {
	long forker; /* 0: none */
	bool rss_known, slope_known;
	double rss;   /* bytes */
	double live;  /* bytes */
	double slope; /* bytes a minute */
	bool rss_out, slope_out; /* the result: it is well above its siblings */
};

/*
 * Sets the results: a value that exceeds the median of three siblings or more by more than three
 * median deviations, by a tenth, and by more than such processes differ anyway.
 * 0, or -1: no memory, and no process stands out.
 */
int mw_find_outliers(struct mw_sibling *, size_t n);
