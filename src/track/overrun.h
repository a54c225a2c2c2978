/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overrun.h - blocks whose tail isn't right (tail.h), at their free or realloc.
 *
 *   overrun   the app wrote past the block's end: it has a record all the
 *             same, which a search finds by its address
 *   quiet     it never had a record: nothing is wrong
 *   double    the tail leads to a record of another block, or a free one
 *   unknown   another allocator's, or allocated before the tracker was on,
 *             or no block at all
 *
 * All of them go on to the real allocator as they came. Lock-free; nothing
 * here allocates. May be called in the middle of a signal handler, and keeps
 * errno. Used by track.h and slow.c only.
 */
#ifndef MW_TRACK_OVERRUN_H
#define MW_TRACK_OVERRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mw_dismissed;

/* What was found so far; relaxed adds. For api.c. */
struct mw_strays {
	uint64_t overruns, double_frees, unknown_frees;
};
extern struct mw_strays mw_strays;

/*
 * What mw_hide() (track.h) does for a block p whose tail isn't right;
 * d->ref as read from there. False: no record, and that is counted if it
 * is to be.
 */
bool mw_hide_stray(const void *p, size_t usable, struct mw_dismissed *d);

/* Has p no tail, because what leads to its record lies beside the heap (tail.h)? */
bool mw_tailless(const void *p, size_t usable);

/*
 * Counts an overrun of a block of `size` bytes from location id; the first
 * one there is worth a line on stderr. Between mw_enter and mw_leave, or
 * mw_late_enter and mw_late_leave, before the free is counted.
 */
void mw_overrun_note(uint32_t id, uint64_t size);

#endif
