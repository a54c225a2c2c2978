/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * site.h - a server's state between requests: the history of the process's
 * memory and of its locations, the mark and the named marks, and the stream for watchers.
 *
 * One thread at a time has a site: the server's, or one that serves MwrapRack (server/httpd/own_site.h,
 * extension/rack_site.c). It makes all calls here, those of the stream, and
 * those of mw_route() with a request that names the site. Zero it, then call
 * mw_site_start(). A forked child calls that again: it frees the parent's
 * copies first, except those that a call there was changing.
 * These calls allocate: enter quiet mode first.
 */
#pragma once

#include <stdatomic.h>

#include "server/memory/store.h"
#include "server/history/counts.h"
#include "server/history/own_cost.h"
#include "server/history/curves.h"
#include "server/history/history.h"
#include "server/history/limit.h"
#include "server/history/mark.h"
#include "server/marks/marks.h"
#include "server/history/parts.h"
#include "server/history/proc_file.h"
#include "server/history/stream.h"
#include "server/verdict/evidence.h"
#include "server/verdict/steady.h"
#include "routes.h"
#include "suspects.h"

/* A verdict in words. */
struct mw_said {
	double at; /* uptime */
	enum mw_verdict_kind kind;
	bool growing;
	bool stale;  /* something has happened since: make it anew */
	double rate; /* bytes a second */
	double beside; /* likewise, of the location that grows beside what is told; 0: none is named */
	double since; /* uptime */
	struct mw_reach reach; /* when the limit is reached */
	struct mw_buf sentence, next, json; /* owned; json: see mw_verdict_json */
	struct mw_buf label; /* owned: the location that the sentence names, for /metrics, a C string; n 0: none */
	/* locations of which a proof is wanted; C strings in `names`, which is owned */
	size_t suspects_n;
	const char *suspects[MW_SUSPECTS];
	struct mw_buf names;
	uint32_t made; /* the location that made most of Ruby's objects that stay; 0: none is named */
};

/* line_label.c. The endpoint or job that most of a line's bytes are for; asked for anew after some time. */
struct mw_line_label {
	double t; /* uptime at which it was found; 0: never */
	char location[256];
	char name[132]; /* "": none */
	double share;
	uint32_t samples;
};

/* When a verdict of another kind was told. */
enum { MW_TOLD = 16, MW_TOLD_TEXT = 240 };
struct mw_told {
	double t; /* uptime */
	enum mw_verdict_kind kind;
	const char *why;
	uint32_t proofs, events; /* so many were made until then */
	char text[MW_TOLD_TEXT]; /* of the sentence */
};

struct mw_site {
	_Atomic uint32_t busy; /* not 0: a call here is changing a mark; seq_cst */
	const struct mw_api *api;
	uint64_t origin_ms; /* monotonic clock at uptime 0 */
	int statm; /* see mw_rss_bytes; mw_site_second() sets it */
	struct mw_history history;
	struct mw_stats stats; /* as last read */
	uint32_t stats_next; /* second of uptime at which they are read again */
	uint32_t stats_n; /* readings so far */
	uint64_t stats_costs[3]; /* CPU time of the last ones in ns; 0: there were fewer */
	uint64_t sample_rate; /* the largest one at which allocations were sampled; 0: none was */
	struct mw_limits limits; /* read each MW_LIMIT_SECONDS; of: NONE until then */
	uint32_t limits_next; /* second of uptime at which they are read again */
	struct mw_parts parts;
	struct mw_counts counts;
	struct mw_own_cost own_cost;
	struct mw_mark mark;
	struct mw_marks marks; /* the named ones; their memory outlives a new start */
	struct mw_stream stream; /* reads the mark; its ticks end with the event "point" (events.c) */
	struct mw_maps maps; /* those of the last minute that somebody looked at */
	struct mw_proofs proofs;
	struct mw_steady steady;
	struct mw_line_label line_label;
	bool report_asked; /* POST /report: server/reports sees it */
	uint32_t told_n; /* ever; the ring keeps the last ones */
	struct mw_told told[MW_TOLD];
	struct mw_said said; /* the last verdict about all ranges; sentence.n 0: none yet */
	struct mw_curves curves; /* their memory outlives a new start */
	struct mw_curves object_curves; /* of Ruby's objects: likewise */
};

void mw_site_start(struct mw_site *, const struct mw_api *);
/* Frees the stream's journal, the mark and the curves' names; the history stays. */
void mw_site_end(struct mw_site *);

/* second.c. Seconds since the tracker was loaded, in this process or the one it was forked from. */
double mw_site_uptime(const struct mw_site *);
/* Seconds since 1970. */
double mw_unix_now(void);

/*
 * Adds a point to the history if a second has begun since the last one, and makes the
 * curves' next step if it is due. The files are /proc/self/statm and smaps, opened by this process.
 * NULL: none. Without statm RSS is unknown until the next call, without smaps its parts are.
 * Returns the milliseconds until the next point is due, 1 to 1000.
 */
unsigned mw_site_second(struct mw_site *, const struct mw_proc_file *statm,
			const struct mw_proc_file *smaps);
/* said.c. The verdict of now, some seconds old at most. It is the site's; NULL: no memory. */
const struct mw_said *mw_site_said(struct mw_site *);
/*
 * The verdict about a range, in seconds of uptime; from < 0: about all ranges. 0; -1: no memory, and *said
 * is all zero. An empty sentence: the one that was told holds on (steady.h). Free it.
 */
int mw_said_make(struct mw_said *, struct mw_site *, double from, double to);
/* Appends members of a JSON object: proofs, and journal, the verdicts of other kinds that were told so far. */
void mw_site_told(struct mw_buf *, const struct mw_site *);
void mw_said_free(struct mw_said *); /* all zero again */
/* Since which uptime the verdicts have told of a growth; NaN: the last one doesn't. */
double mw_site_grows_since(const struct mw_site *);
/* line_label.c. Sets the verdict's label, whose name is the site's. */
void mw_site_label(struct mw_site *, struct mw_verdict *);
/* suspects.c. May a proof be made in this process, now or later? */
const char *mw_site_no_proof(const struct mw_site *);
/* Adds an event of now (history.h). The site may be NULL: then nobody keeps it. */
void mw_site_event(struct mw_site *, const char *kind, const char *text);
