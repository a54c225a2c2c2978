/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h - figures of a process for Prometheus, in its own text form and in
 * OpenMetrics 1.0.
 *
 * mw_metrics_take() fills a struct of plain values, mw_metrics_render() writes
 * it. Names, types and explanations are in one table, in metrics.c.
 * server/family/scrape.c merges those of several processes.
 *
 * Counters count since the tracker was loaded. A reset of the table (POST
 * /reset) changes none of them: within a process they only grow, and need no
 * "_created". A forked child goes on from its parent's.
 */
#pragma once

#include "server/history/limit.h"
#include "shared/report/report.h"

#define MW_METRICS_LABEL 256 /* bytes of a location as a label's value, before its escapes */

/* The live bytes and blocks of one location, or its Ruby objects and their slots. */
struct mw_metrics_location {
	uint32_t at, len; /* the label's value, in `labels`: UTF-8, not escaped */
	uint64_t bytes, n;
	uint64_t variance; /* of the number of objects */
};

struct mw_metrics_list {
	struct mw_metrics_location *v; /* owned; most bytes first, then "(rest)" */
	size_t n;
};

struct mw_metrics {
	struct mw_stats stats;
	struct mw_heap_sums heap;
	uint64_t rss;        /* bytes, if rss_known */
	bool rss_known;
	double start;        /* Unix time */
	struct mw_metrics_list live,
		made; /* made: by the bytes of Ruby's objects; empty unless objects_known */
	bool objects_known; /* Ruby's objects are sampled */
	struct mw_row objects; /* the sums of all rows */
	struct mw_buf labels; /* owned */
	/* set by mw_metrics_take's caller, from what the server keeps: borrowed; NULL: not known */
	const struct mw_limits *limits;
	double own_cpu; /* share of the process's CPU time that tracking takes, 0 to 1; 0: not known */
	const struct mw_options *options; /* set by mw_metrics_take */
	const struct mw_metrics_verdict *verdict;
};

/* The verdict, as far as the metrics have it. */
struct mw_metrics_verdict {
	const char *kind; /* as in /verdict.json */
	bool growing;
	const char *location; /* as mw_metrics_location_label writes it; "": the sentence names none */
	double reached; /* seconds until the limit is reached, at the soonest; < 0: it isn't */
};

/*
 * Takes this process's figures, with its `top` locations by live bytes, and
 * "(rest)" for the others; if Ruby's objects are sampled, by these likewise.
 * Labels of a list are unique: if a location's label, shortened and made
 * valid, equals a larger one's, the location counts to the rest.
 * statm: see mw_rss_bytes. 0, or -1: no memory, and all zero.
 */
int mw_metrics_take(struct mw_metrics *, const struct mw_api *, int statm, uint64_t top, bool objects);
void mw_metrics_free(struct mw_metrics *); /* all zero again */

enum mw_metrics_form { MW_METRICS_PROMETHEUS, MW_METRICS_OPENMETRICS };

void mw_metrics_render(struct mw_buf *, const struct mw_metrics *, enum mw_metrics_form);

/* A location as the value of the label `location`: MW_METRICS_LABEL bytes at most, UTF-8. */
void mw_metrics_location_label(struct mw_buf *, const char *location, size_t len, size_t file_len,
			       enum mw_kind);

/* Appends a label, after "{" or ",". *n: the number of labels so far. s: bytes of any kind. */
void mw_metrics_label(struct mw_buf *, unsigned *n, const char *name, const char *s, size_t len);
