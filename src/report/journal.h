/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.h - which rows changed, and when: one journal for all who watch.
 *
 * A tick takes a snapshot and compares it with the one before. Each id has
 * the tick at which its numbers changed, at which the location that it has now
 * appeared, and at which a location last went from it. So a watcher (struct
 * mw_cursor) is no more than the last tick that it got in full, and one who
 * missed ticks gets what changed since then, once.
 *
 * An id may be used again for another location: that is a different text, and
 * travels as the old one gone and the new one in full.
 *
 * Events are made one at a time and have a bounded size, also in the middle of
 * a tick. If another tick comes meanwhile, rows are sent as they are then; what
 * the cursor counts as got is the tick at which it began, so that nothing is
 * missed (some rows travel twice).
 *
 * All zero at first. Not thread-safe: whoever owns the struct calls.
 */
#ifndef MW_REPORT_JOURNAL_H
#define MW_REPORT_JOURNAL_H

#include "mark.h"
#include "report.h"

#define MW_EVENT_ROWS 2000u
#define MW_EVENT_BYTES ((size_t)256 << 10) /* and one row more at most */

struct mw_entry {
	const struct mw_row *row; /* in the journal's snapshot; NULL: nothing there now */
	uint64_t hash;            /* of its location */
	int64_t mark;             /* growth since the mark */
	uint32_t born;            /* tick: the location appeared */
	uint32_t changed;         /* tick: its numbers did */
	uint32_t gone;            /* tick: an earlier location went; 0: never */
};

struct mw_journal {
	struct mw_snapshot *snapshot; /* owned; of the last tick */
	struct mw_entry *entries;     /* owned; by id */
	size_t n;
	uint32_t tick;                /* the last one; goes on when the rest is freed */
};

/* All zero: has got nothing yet. */
struct mw_cursor {
	uint32_t got;    /* all up to this tick; 0: nothing */
	uint32_t target; /* the tick under way; 0: none */
	bool gone_told;  /* of the tick under way */
	bool more;       /* the last event promised another */
	size_t at;       /* next id, or next of order[] */
	uint32_t *order; /* owned; ids of a first tick, most growth first */
	size_t order_n;
};

/* A tick. 0; -1: no memory, and the journal is as it was. */
int mw_journal_tick(struct mw_journal *, const struct mw_api *, const struct mw_mark *);
/* Frees it all but the number of the tick. No cursor may go on from before. */
void mw_journal_free(struct mw_journal *, const struct mw_api *);

/*
 * Appends the next event for a cursor, one JSON object without a newline:
 *
 *	{"t":uptime,"all":bool,"more":bool,"rows":[[id,total,allocations,
 *	frees,growth,live_bytes,live,life_sum,life_max,mark,location,
 *	file_len,kind],...],"gone":[id,...]}
 *
 * A row whose location the cursor has got already ends before `location`.
 * file_len is how much of `location` names the file, in UTF-16 units of the
 * text as sent. gone[] comes in an event of its own, before the rows: it may
 * name ids that never travelled. False: there is nothing to send now.
 */
bool mw_journal_event(const struct mw_journal *, struct mw_cursor *, struct mw_buf *, double uptime);

/* Would mw_journal_event have something to look for? */
static inline bool mw_journal_ahead(const struct mw_journal *j, const struct mw_cursor *c)
{
	return c->target || c->got != j->tick;
}

/* All zero again: it begins from the start. */
void mw_cursor_free(struct mw_cursor *);

#endif
