/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site.h - what a server keeps from one request to the next: the history of
 * the process's memory, the mark, and the journal that watchers live from.
 *
 * One thread owns a site and makes all the calls here, and mw_route() with a
 * request that names it. All zero, then mw_site_start(), at first and again in
 * a forked child, where `busy` says whether what the parent left can be
 * freed. Allocates (so: in quiet mode).
 */
#ifndef MW_PAGES_SITE_H
#define MW_PAGES_SITE_H

#include <stdatomic.h>

#include "report/history.h"
#include "report/journal.h"
#include "report/mark.h"
#include "routes.h"

struct mw_site {
	_Atomic uint32_t busy;  /* not 0: a call here, or of a cursor, is under way */
	uint64_t origin_ms;     /* monotonic clock at uptime 0 */
	int statm;              /* see mw_rss_bytes; set by who owns the site, each second */
	char start[48];         /* tells this process from one that has its PID later */
	struct mw_history history;
	uint32_t live_kib;      /* as last read; */
	uint32_t live_next;     /* at this second of uptime it is read again */
	struct mw_mark mark;
	struct mw_journal journal;
	double ticked;          /* uptime at the journal's last tick */
	struct mw_buf point;    /* the point event of that tick, with its frame */
	uint32_t point_tick;    /* which tick that is */
};

void mw_site_start(struct mw_site *, const struct mw_api *);
/* Frees what it holds; the history stays. */
void mw_site_end(struct mw_site *, const struct mw_api *);

/* Seconds since the process began. */
double mw_site_uptime(const struct mw_site *);

/*
 * Adds a point to the history if a second has begun since the last one.
 * statm: see mw_rss_bytes; -1: RSS isn't known until then. Returns the milliseconds until
 * the next one is due, 1 to 1000.
 */
unsigned mw_site_second(struct mw_site *, const struct mw_api *, int statm);

/* --- for who watches: /live --- */

/* A tick of the journal, and its point event. 0; -1: no memory, all is as it was. */
int mw_site_tick(struct mw_site *, const struct mw_api *);
/* Nobody watches any more. */
void mw_site_unwatched(struct mw_site *, const struct mw_api *);

/*
 * Fills *b, which is empty, with what comes next for a watcher, in
 * text/event-stream's form: rows, then the point of the tick. *point_tick is
 * the watcher's, 0 at first. False: nothing is new.
 */
bool mw_site_next(struct mw_site *, struct mw_cursor *, uint32_t *point_tick, struct mw_buf *b);

#endif
