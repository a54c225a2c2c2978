/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counts.h - how many threads and open descriptors the process has.
 *
 * Both are the kernel's figures: two stat(2) of /proc/self, and for descriptors before Linux 6.2 a list.
 * They are read once in MW_COUNTS_SECONDS; a list of many descriptors is read more rarely, so that it
 * costs no more than MW_COUNTS_SHARE of a CPU. System calls only, no allocation.
 */
#pragma once

#include "history.h"

enum { MW_COUNTS_SECONDS = 10, MW_COUNTS_SHARE = 5000 }; /* 0.02 % */

/* The last reading; all zero: none yet. */
struct mw_counts {
	bool read;
	uint32_t next; /* not before that second of uptime */
	uint32_t threads, fds; /* MW_KIB_UNKNOWN: not known */
};

/* Fills p's threads and fds, after a reading if one is due. p->t is set. */
void mw_counts_second(struct mw_counts *, struct mw_point *p);
