/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paths.h - the names of files and modules, each kept once for all its locations.
 *
 * Paths are found by their text. Each location holds a reference. The last drop takes the path
 * out of the table. Readers may stand on it: retire.c frees its memory a grace period later. For
 * callsite.c and, after a path's death, retire.c. callsite.h says how to walk the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rcu.h"

struct mw_path {
	struct cds_lfht_node node;
	uint32_t refs; /* 0: dying, not to be found; atomic */
	uint32_t len;
	struct mw_path *next_dead; /* waits for a grace period */
	uintptr_t base; /* a module's: where it was loaded when last seen; relaxed */
	const char *real; /* file that Ruby read: `text`, or owned; NULL: none. Set once: release */
	char text[]; /* NUL-terminated */
};

/* Of n bytes, for each table of texts. */
uint32_t mw_text_hash(const char *text, size_t n);

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
 * Ruby read code of that name from the file `real`, an absolute path. The first call's file
 * stays. The caller keeps a reference, or is busy at a location of that path.
 */
void mw_path_read_from(struct mw_path *, const char *real);

/* Drops a reference; NULL: nothing to drop. */
void mw_path_drop(struct mw_path *);

/* Takes all paths that died so far. */
struct mw_path *mw_paths_dead(void);
/* Frees n of them at most, after a grace period; returns the rest. */
struct mw_path *mw_paths_free(struct mw_path *, uint32_t n);
void mw_paths_dead_again(struct mw_path *); /* puts them back instead */
