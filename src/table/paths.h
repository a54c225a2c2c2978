/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paths.h - the names of files and modules, each kept once for all its locations.
 *
 * Found by their text, and counted: each location holds a reference. The last
 * one takes the path out of the table; its memory is freed a grace period
 * later, by retire.c, for readers may stand on it. For callsite.c; retire.c
 * has what died. Who may walk the table, and how, is in callsite.h.
 */
#ifndef MW_TABLE_PATHS_H
#define MW_TABLE_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rcu.h"

struct mw_path {
	struct cds_lfht_node node;
	uint32_t hash;
	uint32_t refs; /* 0: dying, not to be found; atomic */
	uint32_t len;
	struct mw_path *next_dead; /* waits for a grace period */
	const char *real; /* the file that Ruby read, NULL: none; `text`, or owned. Set once: release */
	char text[]; /* NUL-terminated */
};

/* Once, at load. False: no memory; it may also abort(), see mw_memory_is_there. */
bool mw_paths_init(void);

/*
 * Finds the n bytes of text, any bytes, or adds a copy, and takes a reference
 * for the caller. NULL: no room.
 */
struct mw_path *mw_path_take(const char *text, size_t n);

/* The same without adding, and without a reference. NULL: there is none. */
struct mw_path *mw_path_known(const char *text, size_t n);

/*
 * Ruby read code that it calls so from the file `real`, an absolute path. The first
 * one stays. The caller keeps a reference, or is busy at a location of that path.
 */
void mw_path_read_from(struct mw_path *, const char *real);

/* Drops a reference; NULL: nothing to drop. */
void mw_path_drop(struct mw_path *);

struct mw_path *mw_paths_dead(void); /* takes all that died so far … */
/* … to be freed a grace period later, n of them at most; returns the rest … */
struct mw_path *mw_paths_free(struct mw_path *, uint32_t n);
void mw_paths_dead_again(struct mw_path *); /* … or put back */

#endif
