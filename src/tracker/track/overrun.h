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

/* Found so far; relaxed adds. For api.c. */
struct mw_strays {
	uint64_t overruns, double_frees, unknown_frees;
};
extern struct mw_strays mw_strays;

/*
 * Does the work of mw_hide() (dismiss.h) for a block p whose tail isn't right.
 * d->ref: as read from the tail. False: p has no record, or was not counted;
 * a double or unknown free is counted.
 */
bool mw_hide_stray(const void *p, size_t usable, struct mw_dismissed *d);

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
