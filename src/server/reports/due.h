/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * due.h - is a report due, and for which of the options' moments? Plain figures in, an answer out: it reads nothing.
 *
 * Each moment is due once in report_every seconds, as long as it holds. OOM holds when the kernel's counter
 * moved since the last look. A report that failed is due again after RETRY_S.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/options/options.h"

/* The figures of one look. */
struct mw_report_facts {
	double now; /* uptime */
	bool rss_known, limit_known, ooms_known;
	uint64_t rss, limit, used, ooms;
	bool pressed; /* threads stall for want of memory */
	double grows; /* seconds for which the verdict has told of a growth; NaN: it doesn't */
	bool asked, exits;
};

struct mw_report_due {
	double next[MW_REPORT_AT_MAX]; /* not before this uptime */
	uint64_t ooms; /* of the look before */
	bool ooms_seen;
	/* of the look before, to know how fast the memory rises */
	double before;
	double level;
};

/* The index of the moment that is due; MW_REPORT_AT_MAX: somebody asked; -1: none. */
int mw_report_is_due(struct mw_report_due *, const struct mw_options *, const struct mw_report_facts *);
/* It was written, or not. */
void mw_report_was(struct mw_report_due *, const struct mw_options *, int which, double now, bool written);
/* ms until the next look: the sooner, the nearer memory is to a moment at its present speed. */
int mw_report_next_look(struct mw_report_due *, const struct mw_options *, const struct mw_report_facts *);
