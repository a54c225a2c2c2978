/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * adopted.h - blocks with Ruby's instructions that have no record: those from before the tracker's
 * start in a running process, and those of quiet threads there.
 *
 * A pc may be cached only if the free of its code is noticed (tracker/caller/ruby/frame.h). A record's code bit
 * does that for other code. Here the free of a block without a record looks into this set.
 *
 * A hash of addresses in buckets of a cache line. A full bucket takes no more: its code is looked up
 * by Ruby's public calls each time, as if it were not adopted.
 *
 * Order: the code is adopted while it runs, so before its free; and before a pc in it is cached. Any
 * thread, also in a signal handler. No locks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: no room, or no memory. The block is live. */
bool mw_adopted_add(const void *block);
/* The block is freed: true if it was in the set, and is no more. */
bool mw_adopted_remove(const void *block);
/* Removes them all; calls `gone` for each. */
void mw_adopted_clear(void (*gone)(uintptr_t block));
