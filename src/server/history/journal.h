/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.h - the rows that changed, and when: one journal for all watchers.
 *
 * A tick takes a snapshot and compares it with the one before. Each id has
 * three ticks: its numbers changed, its present location appeared, and an
 * earlier location went. A watcher (struct mw_cursor) needs only the last tick
 * that it got in full. After missed ticks it gets each changed row once.
 *
 * Another location may reuse an id. Its text differs: the old location travels
 * as gone, the new one in full.
 *
 * Events are made one at a time and have a bounded size, also in the middle of
 * a tick. If another tick comes meanwhile, rows are sent with their new
 * numbers. The cursor counts the tick at which it began as got: no row is
 * missed, some travel twice.
 *
 * All zero at first. Not thread-safe: the owner of the struct makes all calls.
 */
#pragma once

#include "mark.h"
#include "shared/report/report.h"

#define MW_EVENT_ROWS 2000u
#define MW_EVENT_BYTES ((size_t)256 << 10) /* and one row more at most */

struct mw_entry {
	const struct mw_row *row; /* in the journal's snapshot; NULL: none now */
	uint64_t hash;            /* of its location */
	int64_t mark;             /* growth since the mark */
	uint32_t appeared;        /* tick: the location appeared */
	uint32_t changed;         /* tick: its numbers changed */
	uint32_t gone;            /* tick: an earlier location went; 0: never */
};

struct mw_journal {
	struct mw_snapshot *snapshot; /* owned; of the last tick */
	struct mw_entry *entries;     /* owned; by id */
	size_t n;
	uint32_t tick;                /* the last one; mw_journal_free() keeps it */
};

/* All zero: it has got nothing yet. */
struct mw_cursor {
	uint32_t got;    /* all up to this tick; 0: nothing */
	uint32_t target; /* the tick under way; 0: none */
	bool gone_told;  /* the tick under way has sent its gone[], or has none */
	bool more;       /* the last event promised another */
	size_t at;       /* the next id, or the next index of order[] */
	uint32_t *order; /* owned; ids of a first tick, most growth first */
	size_t order_n;
};

/* A tick. 0; -1: no memory, and the journal is as it was. */
int mw_journal_tick(struct mw_journal *, const struct mw_api *, const struct mw_mark *);
/* Frees all but the number of the tick. No earlier cursor may go on afterwards. */
void mw_journal_free(struct mw_journal *, const struct mw_api *);

/*
 * Appends the next event for a cursor, one JSON object without a newline:
 *
 *	{"t":uptime,"all":bool,"more":bool,"rows":[[id,total,allocations,
 *	frees,growth,live_bytes,live,life_sum,life_max,mark,location,
 *	file_len,kind,[objects,object_bytes,object_samples,object_variance]],...],
 *	"gone":[id,...]}
 *
 * The last value is 0 if there are no objects. A row has no location, file_len and kind if the cursor has those
 * already. file_len is how
 * much of `location` names the file, in UTF-16 units of the text as sent.
 * gone[] comes in an event of its own, before the rows: it may name ids that
 * never travelled. False: there is nothing to send now, as before the first
 * tick of a journal.
 */
bool mw_journal_event(const struct mw_journal *, struct mw_cursor *, struct mw_buf *, double uptime);

/* May mw_journal_event() have something to send? */
static inline bool mw_journal_ahead(const struct mw_journal *j, const struct mw_cursor *c)
{
	return c->target || c->got != j->tick;
}

/* All zero again: the cursor begins from the start. */
void mw_cursor_free(struct mw_cursor *);
