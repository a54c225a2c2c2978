/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preloads.h - other libraries of LD_PRELOAD that define an allocator's functions: in front of the tracker, or beneath.
 *
 * Each may be an allocator, or a wrapper that passes calls on; a wrapper may have some of the functions only. For
 * real.c, while it finds the functions: in one thread, once for each process.
 */
#pragma once

#include <stdbool.h>

struct mw_real;

/* A call came to the tracker. Set by the functions that serve until the real ones are found. */
extern bool mw_reached;

/*
 * Does a preload in front keep one of the four to itself? Then the tracker would see blocks without their end, or
 * ends without a beginning. A preload that passes calls on is no such one. A program's own allocator is left alone,
 * too: some of its libraries may use ours.
 */
bool mw_is_behind_allocator(void);

/*
 * r has the next function of each name. Leaves those of one allocator, and NULL for what it lacks: it can't free
 * another one's blocks. Returns NULL, or why the process runs untracked; then r is as it was.
 */
const char *mw_of_one_allocator(struct mw_real *r);
