/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preloads.h - others that define an allocator's functions: libraries of LD_PRELOAD in front of the tracker or beneath, and
 * the program.
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
 * Does a library in front, or the program, keep one of an allocator's functions to itself? Then the tracker would
 * see blocks without their end, or ends without a beginning. Returns why the process runs untracked. NULL: all pass
 * calls on, or the program has an allocator of its own: that is left alone, as some of its libraries may use ours.
 */
const char *mw_behind_allocator(void);

/* Sets mw_first. r: the real functions. */
void mw_first_find(const struct mw_real *r);

/* Returns the function that the app calls by this name without the tracker. NULL: there is none. */
void *mw_real_beside(const char *name);

/*
 * r has the next function of each name. Leaves those of one allocator, and NULL for what it lacks: it can't free
 * another one's blocks. malloc_usable_size is there. Returns NULL, or why the process runs untracked; then r is as it was.
 */
const char *mw_of_one_allocator(struct mw_real *r);
