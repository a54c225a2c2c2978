/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare.c - outliers among siblings. See compare.h. */
#include "compare.h"

#include <stdlib.h>

#include "server/report/self.h"

#define SIBLINGS 3u /* of two, nobody can say which one is unusual */
#define RSS_LEAST (4.0 * 1024 * 1024)
#define SLOPE_LEAST (128.0 * 1024)
#define SLOPE_PART 0.001 /* of the live bytes, a minute */

static double absolute(double v)
{
	return v < 0 ? -v : v;
}

/* The bound above which one of v stands out; least: what they differ by anyway. v is changed. */
static double bound(double *v, size_t n, double least)
{
	double median = mw_median(v, n), by;

	for (size_t i = 0; i < n; i++)
		v[i] = absolute(v[i] - median);
	by = 3 * mw_median(v, n);
	if (by < absolute(median) / 10)
		by = absolute(median) / 10;
	return median + (by > least ? by : least);
}

static void of_forker(struct mw_sibling *p, size_t n, long forker, double *room)
{
	size_t k = 0;
	double most;

	for (size_t i = 0; i < n; i++)
		if (p[i].forker == forker && p[i].rss_known)
			room[k++] = p[i].rss;
	most = bound(room, k, RSS_LEAST);
	for (size_t i = 0; k >= SIBLINGS && i < n; i++)
		if (p[i].forker == forker && p[i].rss_known)
			p[i].rss_out = p[i].rss > most;
	k = 0;
	for (size_t i = 0; i < n; i++)
		if (p[i].forker == forker && p[i].slope_known)
			room[k++] = p[i].slope;
	most = bound(room, k, SLOPE_LEAST);
	for (size_t i = 0; k >= SIBLINGS && i < n; i++)
		if (p[i].forker == forker && p[i].slope_known)
			p[i].slope_out = p[i].slope > most && p[i].slope > p[i].live * SLOPE_PART;
}

static bool is_first(const struct mw_sibling *p, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (p[k].forker == p[i].forker)
			return false;
	return true;
}

int mw_find_outliers(struct mw_sibling *p, size_t n)
{
	double *room = malloc((n + 1) * sizeof(*room));

	for (size_t i = 0; i < n; i++)
		p[i].rss_out = p[i].slope_out = false;
	for (size_t i = 0; room && i < n; i++)
		if (p[i].forker && is_first(p, i))
			of_forker(p, n, p[i].forker, room);
	free(room);
	return room ? 0 : -1;
}
