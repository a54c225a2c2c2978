/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site.h - a server's state between requests: the history of the process's
 * memory, the mark, and the journal for watchers.
 *
 * One thread owns a site. It makes all calls here, and those of mw_route() with
 * a request that names the site. Zero it, then call mw_site_start(). A forked
 * child calls that again: if `busy` is 0, it frees the parent's copies first.
 * These calls allocate: enter quiet mode first.
 */
#ifndef MW_PAGES_SITE_H
#define MW_PAGES_SITE_H

#include <stdatomic.h>

#include "report/live/history.h"
#include "report/live/journal.h"
#include "report/live/mark.h"
#include "routes.h"

struct mw_site {
	_Atomic uint32_t busy;  /* not 0: a call here, or of a cursor, is under way */
	uint64_t origin_ms;     /* monotonic clock at uptime 0 */
	int statm;              /* see mw_rss_bytes; mw_site_second() sets it */
	char start[48];         /* tells this process from a later one with the same PID */
	struct mw_history history;
	uint32_t live_kib;      /* as last read */
	uint32_t live_next;     /* second of uptime at which live_kib is read again */
	struct mw_mark mark;
	struct mw_journal journal;
	double ticked;          /* uptime at the journal's last tick */
	struct mw_buf point;    /* the point event of that tick, with its frame */
	uint32_t point_tick;    /* the number of that tick */
};

void mw_site_start(struct mw_site *, const struct mw_api *);
/* Frees the journal, the mark and the point; the history stays. */
void mw_site_end(struct mw_site *, const struct mw_api *);

/* Seconds since the tracker was loaded, in this process or the one it was forked from. */
double mw_site_uptime(const struct mw_site *);

/*
 * Adds a point to the history if a second has begun since the last one.
 * statm: see mw_rss_bytes; -1: RSS is unknown until the next call. Returns the
 * milliseconds until the next point is due, 1 to 1000.
 */
unsigned mw_site_second(struct mw_site *, const struct mw_api *, int statm);

/* --- for watchers: /live --- */

/* A tick of the journal, and its point event. 0; -1: no memory, and all is as it was. */
int mw_site_tick(struct mw_site *, const struct mw_api *);
/* The last watcher has gone: frees the journal and the point. */
void mw_site_unwatched(struct mw_site *, const struct mw_api *);

/*
 * Fills *b, which is empty, with a watcher's next event, in the form of
 * text/event-stream: rows, then the point of the tick. *point_tick is the
 * watcher's, 0 at first. False: nothing is new.
 */
bool mw_site_next(struct mw_site *, struct mw_cursor *, uint32_t *point_tick, struct mw_buf *b);

#endif
