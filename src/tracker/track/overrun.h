/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overrun.h - blocks whose tail isn't right (tail.h), at their free or realloc.
 *
 *   overrun   the app wrote past the block's end: the block still has a
 *             record, and a search finds it by the block's address
 *   quiet     the block never had a record: nothing is wrong
 *   double    the tail leads to a record of another block, or a free one
 *   unknown   another allocator's block, or one allocated before the tracker
 *             was on, or no block at all
 *
 * Where blocks without a record live (mw_unseen), most of these are such blocks. So the last two aren't
 * counted there, and the search stays near the index in the tail: it misses blocks whose whole tail was
 * overwritten. They stay live in the table.
 *
 * All of them go on to the real allocator unchanged. Lock-free and
 * async-signal-safe: nothing here allocates, and errno stays as it was. For
 * dismiss.h, cold.c and shared.c only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mw_dismissed;
struct mw_record;

/* Found so far; relaxed adds. For api.c. */
struct mw_strays {
	uint64_t overruns, double_frees, unknown_frees;
	uint64_t wrong_sizes; /* wrong_size.h */
};
extern struct mw_strays mw_strays;

/*
 * Does the work of mw_hide() (dismiss.h) for a block p whose tail isn't right.
 * d->ref: as read from the tail. False: p has no record, or was not counted;
 * a double or unknown free is counted.
 */
bool mw_hide_stray(const void *p, size_t usable, struct mw_dismissed *d);

/* Does the work of mw_hide() while all records change at once (forget.h). False: p has no record, or that isn't so. */
bool mw_hide_changing(const void *p, struct mw_dismissed *d);

/*
 * Hides d->record from readers and fills in *d, if the record is p's: for a thread that p isn't the only one to do so.
 * False: another thread has hidden it. d->ref is set.
 */
bool mw_hide_once(const void *p, struct mw_dismissed *d);

/* The same if p is a sample, whose tail doesn't matter (tracker/table/sampled_blocks.h). False: it isn't one. */
bool mw_hide_sampled(const void *p, struct mw_dismissed *d);

/* True if p's tail leads to its record, and lies behind its bytes: not an old one in a sample. usable: its room, at least a tail's. */
bool mw_tail_leads(const void *p, size_t usable);

/* True if p has no tail, and the side index leads to its record instead (tail.h). */
bool mw_tailless(const void *p, size_t usable);

/*
 * Counts an overrun of a block of `size` bytes from location id. The first one
 * of a location writes a line to stderr. Called inside the guard (shard.h), or
 * between mw_late_enter and mw_late_leave, before the free is counted.
 */
void mw_overrun_note(uint32_t id, uint64_t size);

/*
 * Writes "a block of SIZE bytes from LOCATION WHAT", and a number behind it unless that is NULL: once
 * for each *said. count: how often it has happened; if the line can't be written now, it is tried again
 * at the 2nd, 4th, 8th, ... time. Called where mw_overrun_note may be.
 */
void mw_stray_say(uint32_t *said, uint64_t count, uint32_t id, uint64_t size, const char *what,
		  const uint64_t *number);
