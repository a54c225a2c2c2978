/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - a process's table as another process of its family reads it.
 *
 * The format is text, readable by people: a line with its version, one with
 * the process's figures, then one for each row and each live block ("+"), what the process says of
 * itself ("!") and the points of its curve ("*"), or its sampled stacks: texts ("="), frames of
 * these ("@"), and stacks of frames ("#"). If the rows' growth is that of a range of time, a line
 * ("~") has what all live bytes changed by. Tabs separate the fields; locations are escaped as in the text dump. It is no
 * interface: a reader rejects another version, and leaves that process out.
 */
#pragma once

#include "shared/report/profile.h"
#include "self.h"

/* The flags of struct mw_stats that travel. A sum has those that any of its processes has. */
#define MW_WIRE_FLAGS(X) \
	X(locations_full) X(records_full) X(threads_full) X(paused) X(sampled) X(heap_known)

/* Lines with the bytes of paths as they are, which may be no UTF-8. */
#define MW_WIRE_TYPE "application/octet-stream"

/* One process's answer. All zero: none. Strings point into `text`. */
struct mw_wire {
	long pid;
	uint64_t ns; /* shared/sys/namespace.h */
	bool ruby;             /* Ruby runs in it */
	struct mw_stats stats; /* life_unit is static; no other pointer is set */
	struct mw_row *rows; /* owned; ids are MW_ID_NONE until a sum gives its own; no NUL within a location */
	size_t n;
	struct mw_live *lives; /* owned; generation is the age; newest first */
	size_t lives_n;
	struct mw_self self; /* of mw_wire_write_self() */
	struct mw_stacked_frame *frames; /* owned; their texts are in `text`; without addresses */
	size_t frames_n;
	struct mw_stacked *stacks; /* owned; id: index into rows; label: index into frames, plus 1; one frame or a label */
	size_t stacks_n;
	uint32_t *chain; /* owned; indexes into frames */
	size_t chain_n;
	const char **texts; /* owned; those of the frames */
	size_t texts_n;
	char *text; /* owned */
	bool grown; /* the rows' growth, and these, are of the range that was asked for */
	int64_t grown_total;
};

/* Blocks of a stack are estimated, and travel in units of so many parts of one. */
#define MW_WIRE_BLOCKS 1000

enum mw_wire_what {
	MW_WIRE_SELF, /* no rows */
	MW_WIRE_ALL, /* all rows */
	MW_WIRE_AT, /* one location's row, if there is one, its live blocks and its sampled stacks */
	MW_WIRE_STACKS, /* all rows, and the sampled stacks */
	MW_WIRE_GROWN, /* the same, with the growth of a range of time: mw_wire_write_grown() */
	MW_WIRE_DIFF /* the rows of a difference (diff.h) */
};

/* Appends this process's answer. location: for MW_WIRE_AT. 0, or -1: no memory. */
int mw_wire_write(struct mw_buf *, const struct mw_api *, enum mw_wire_what, const char *location,
		  size_t len);

/*
 * Appends this process's answer to MW_WIRE_SELF, with what it says of itself. 0, or -1: no memory.
 */
int mw_wire_write_self(struct mw_buf *, const struct mw_api *, const struct mw_self *);

/*
 * Appends this process's answer to MW_WIRE_GROWN: the growth of the range of an mw_profile_how.
 * total: the change of all live bytes; NULL: nothing is known of that time. 0, or -1: no memory.
 */
int mw_wire_write_grown(struct mw_buf *, const struct mw_api *, const struct mw_profile_how *,
			const int64_t *total);

/* wire_stacks.c, for wire.c: all rows, and the sampled stacks. 0, or -1: no memory. */
int mw_wire_put_stacks(struct mw_buf *, const struct mw_api *, const struct mw_profile_how *,
		       void (*put_row)(struct mw_buf *, const struct mw_row *));
/* The same, of the only row that was put. */
int mw_wire_put_stacks_at(struct mw_buf *, const struct mw_api *, const struct mw_row *);

/*
 * Reads the output of mw_wire_write() of a process of this version. Takes ownership of text,
 * malloc'ed, in any case. 0, or -1: not valid, or no memory; then *w is all zero.
 */
int mw_wire_read(struct mw_wire *w, char *text, size_t n);
void mw_wire_free(struct mw_wire *); /* all zero again */
