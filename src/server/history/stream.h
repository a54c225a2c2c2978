/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream.h - /live: what each watcher gets next, when the next tick is due, and when a stream ends.
 *
 * A process has one stream. Its transports only carry bytes: the server's thread (server/httpd/live.c) and
 * MwrapRack (extension/rack_live.c). Both may have watchers at once.
 *
 * A tick compares two snapshots (journal.h) and makes the ending: the events that each watcher gets
 * after the rows, the same for all. A tick comes each second, or less often if it takes more than
 * 1/TICK_SHARE of the time. Without watchers there is no tick, no snapshot and no journal.
 *
 * A watcher holds one event at a time, and its place in the journal. If it doesn't read, its event
 * waits, it misses ticks, and then gets what changed since. It holds up no other. There are two
 * kinds:
 *  - one that stays (mw_watcher_join), until its transport frees it;
 *  - one that polls (mw_watcher_poll): it gets what there is, an event "next" that says where
 *    another request can go on, and the end. The journal stays for MW_RESUME_MS after it.
 *
 * Must stay true:
 *  - a watcher gets no rows before the journal's first tick, so the first event has all of them;
 *  - a watcher's cursor belongs to one journal (`journal_n`): in a later one it begins from nothing;
 *  - an event is sent whole, or the stream ends.
 *
 * Callers:
 *  - one thread at a time: the one that has the site (server/pages/site.h). It holds "the lock", and has
 *    entered quiet mode, since these functions allocate;
 *  - one thread uses a watcher. Functions that say so it may call without the lock, and it may read
 *    the bytes that mw_watcher_next() gave it. Another thread may only end the watcher.
 *
 * Lock order: the caller's lock, then those that mw_api's functions take. None is taken here.
 */
#pragma once

#include <stdatomic.h>

#include "journal.h"

#define MW_WATCHERS_MAX 8 /* that stay */

/* A stream's inputs; the same from start to end. */
struct mw_stream_inputs {
	const struct mw_api *api;
	const struct mw_mark *mark; /* the owner of the stream changes it between two calls */
	uint64_t origin_ms;         /* mw_now_ms() at uptime 0 */
	/* Appends the ending of the tick at uptime t: whole events, each ends with an empty line. */
	void (*ending)(struct mw_buf *, void *ctx, double t);
	void *ctx;
};

/* All zero, then mw_stream_start(). */
struct mw_stream {
	/* not 0: a call is under way, so a forked child's copy may be half changed; seq_cst */
	_Atomic uint32_t busy;
	/*
	 * The number of mw_stream_start() in the upper half, of watchers that stay in the lower one.
	 * Relaxed: it guards no other data.
	 */
	_Atomic uint64_t watching;
	struct mw_stream_inputs inputs;
	char start[48];       /* tells this process from a later one with the same PID */
	struct mw_journal journal;
	uint32_t journal_n;   /* the journal's number; 0: there was none */
	uint32_t first;       /* the journal's first tick */
	double ticked;        /* uptime at the last tick */
	uint32_t ticks;       /* so many so far: a transport sees that another one ticked */
	struct mw_buf ending; /* owned; */
	uint32_t ending_tick; /* of this tick */
	uint64_t due;         /* ms; the next tick, unless nobody watches */
	uint64_t kept_until;  /* ms; until then one that polls may come back */
};

/* Its owner is a transport. All zero, then mw_watcher_join() or mw_watcher_poll(). */
struct mw_watcher {
	struct mw_cursor cursor;
	uint32_t journal_n;   /* the journal of the cursor; 0: none yet */
	uint32_t ending_tick; /* the last ending that it got */
	uint32_t begun;       /* as in the upper half of `watching`, if it counts there; else 0 */
	struct mw_buf out;    /* owned; an event */
	size_t sent;          /* bytes of it */
	uint64_t spoke;       /* ms; when the last event was begun */
	uint64_t took;        /* ms; when it last took bytes */
	bool polls;
	bool told;            /* it polls, and got its "next" */
	bool ended;           /* nothing more is sent */
};

/* --- the stream ---------------------------------------------------------------------- */

/*
 * Begins. In a forked child it begins anew, and frees the parent's copies if no call was under way
 * there. Watchers from before get a new journal from its start, and no longer count.
 */
void mw_stream_start(struct mw_stream *, const struct mw_stream_inputs *);
/* Frees the journal and the ending. No watcher may go on. */
void mw_stream_end(struct mw_stream *);

/* Ticks if that is due. Returns true if it did: watchers may have something to read. */
bool mw_stream_run(struct mw_stream *, uint64_t now);
/* When the next tick is due, in ms of mw_now_ms(); UINT64_MAX: nobody watches. */
uint64_t mw_stream_due(const struct mw_stream *, uint64_t now);
/* Returns true if nobody watches. The journal is then freed. */
bool mw_stream_idle(struct mw_stream *, uint64_t now);

/* --- a watcher ------------------------------------------------------------------------- */

/*
 * Lets w watch, and begin with the bytes of *first, which it takes over. False: `max` of them or
 * MW_WATCHERS_MAX watch already; *first stays the caller's.
 */
bool mw_watcher_join(struct mw_stream *, struct mw_watcher *w, struct mw_buf *first, unsigned max,
		     uint64_t now);
/*
 * Lets w poll; ticks if there is no journal. since: "START:TICK" of an earlier "next". Returns true
 * if w goes on from there; false if it begins from nothing, because the changes since then aren't
 * known. NULL: none.
 */
bool mw_watcher_poll(struct mw_stream *, struct mw_watcher *w, const char *since, uint64_t now);

enum mw_next { MW_NEXT_BYTES, MW_NEXT_LATER, MW_NEXT_END };
/*
 * w's next bytes. BYTES: *p and *n, at least one, valid until the next call for w. LATER: nothing
 * before the next tick, or before mw_watcher_due(). END: nothing any more.
 */
enum mw_next mw_watcher_next(struct mw_stream *, struct mw_watcher *w, uint64_t now, const char **p,
			     size_t *n);
/* w took so many of these bytes. Without the lock. */
void mw_watcher_took(struct mw_watcher *w, size_t n, uint64_t now);

/* When w gets a comment, since it was silent for so long; in ms of mw_now_ms(). */
uint64_t mw_watcher_due(const struct mw_watcher *w);
/* True if bytes wait for w, which took none for MW_STALL_MS. Without the lock. */
bool mw_watcher_stalled(const struct mw_watcher *w, uint64_t now);

/* Ends w's stream, and counts it no longer. Its memory stays, for the thread that uses it. */
void mw_watcher_end(struct mw_stream *, struct mw_watcher *w);
/* The same, and frees it: all zero again. Without the lock. */
void mw_watcher_free(struct mw_stream *, struct mw_watcher *w);
