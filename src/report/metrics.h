/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h - figures of a process for Prometheus, in its own text form and in
 * OpenMetrics 1.0.
 *
 * First they are taken, into a struct of plain values, then rendered. Names, types
 * and explanations are in one table, in metrics.c. Those of several processes
 * are put together by family/scrape.c.
 *
 * Counters count since the tracker was loaded. A reset of the table (POST
 * /reset) changes none of them, so they only ever grow, but in a new process,
 * and need no "_created". A forked child goes on from its parent's.
 */
#ifndef MW_REPORT_METRICS_H
#define MW_REPORT_METRICS_H

#include "report.h"

#define MW_METRICS_LABEL 256 /* bytes of a location as a label's value, before its escapes */

/* What is live at one location. */
struct mw_metrics_place {
	uint32_t at, len; /* its label's value, in `labels`: UTF-8, not escaped */
	uint64_t live_bytes, live;
};

struct mw_metrics {
	struct mw_stats stats;
	struct mw_heap_sums heap;
	uint64_t rss;        /* bytes, if rss_known */
	bool rss_known;
	double start;        /* Unix time */
	struct mw_metrics_place *places; /* owned; most live bytes first, then "(rest)" */
	size_t n;
	struct mw_buf labels; /* owned */
};

/*
 * Of this process, with its `top` locations by live bytes, and "(rest)": what
 * is live in the others. No label is there twice: a location whose label,
 * shortened and made valid, is that of a larger one counts as one of the rest.
 * statm: see mw_rss_bytes. 0, or -1 when there is no memory; then all zero.
 */
int mw_metrics_take(struct mw_metrics *, const struct mw_api *, int statm, uint64_t top);
void mw_metrics_free(struct mw_metrics *); /* all zero again */

enum mw_metrics_form { MW_METRICS_PROMETHEUS, MW_METRICS_OPENMETRICS };

void mw_metrics_render(struct mw_buf *, const struct mw_metrics *, enum mw_metrics_form);

/* A label, and what comes before it: "{" or ",". *n: how many there are. Bytes of any kind. */
void mw_metrics_label(struct mw_buf *, unsigned *n, const char *name, const char *s, size_t len);

#endif
