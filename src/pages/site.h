/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site.h - a server's state between requests: the history of the process's
 * memory, the mark, and the stream for watchers.
 *
 * One thread owns a site. It makes all calls here, those of the stream, and
 * those of mw_route() with a request that names the site. Zero it, then call
 * mw_site_start(). A forked child calls that again: it frees the parent's
 * copies first, except those that a call there was changing.
 * These calls allocate: enter quiet mode first.
 */
#ifndef MW_PAGES_SITE_H
#define MW_PAGES_SITE_H

#include <stdatomic.h>

#include "report/live/history.h"
#include "report/live/mark.h"
#include "report/live/stream.h"
#include "routes.h"

struct mw_site {
	_Atomic uint32_t busy;  /* not 0: a call here is changing the mark; seq_cst */
	const struct mw_api *api;
	uint64_t origin_ms;     /* monotonic clock at uptime 0 */
	int statm;              /* see mw_rss_bytes; mw_site_second() sets it */
	struct mw_history history;
	uint32_t live_kib;      /* as last read */
	uint32_t live_next;     /* second of uptime at which live_kib is read again */
	struct mw_mark mark;
	struct mw_stream stream; /* reads the mark; its ticks end with the event "point" (events.c) */
};

void mw_site_start(struct mw_site *, const struct mw_api *);
/* Frees the stream's journal and the mark; the history stays. */
void mw_site_end(struct mw_site *);

/* Seconds since the tracker was loaded, in this process or the one it was forked from. */
double mw_site_uptime(const struct mw_site *);

/*
 * Adds a point to the history if a second has begun since the last one.
 * statm: see mw_rss_bytes; -1: RSS is unknown until the next call. Returns the
 * milliseconds until the next point is due, 1 to 1000.
 */
unsigned mw_site_second(struct mw_site *, int statm);

#endif
