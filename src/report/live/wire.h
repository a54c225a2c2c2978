/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - a process's table as another process of its family reads it.
 *
 * The format is text, readable by people: a line with its version, one with
 * the process's figures, then one for each row and each live block, or what the
 * process says of itself ("!") and the points of its curve ("*"). Tabs
 * separate the fields; locations are escaped as in the text dump. It is no
 * interface: a reader rejects another version, and leaves that process out.
 */
#ifndef MW_REPORT_WIRE_H
#define MW_REPORT_WIRE_H

#include "report/report.h"
#include "self.h"

/* One process's answer. All zero: none. Strings point into `text`. */
struct mw_wire {
	long pid;
	bool ruby;             /* Ruby runs in it */
	struct mw_stats stats; /* life_unit is static; no other pointer is set */
	struct mw_row *rows;   /* owned; ids are MW_ID_NONE; no NUL within a location */
	size_t n;
	struct mw_live *lives; /* owned; generation is the age; newest first */
	size_t lives_n;
	struct mw_self self;   /* of mw_wire_write_self() */
	char *text;            /* owned */
};

enum mw_wire_what {
	MW_WIRE_SELF, /* no rows */
	MW_WIRE_ALL,  /* all rows */
	MW_WIRE_AT    /* one location's row, if there is one, and its live blocks */
};

/* Appends this process's answer. location: for MW_WIRE_AT. 0, or -1: no memory. */
int mw_wire_write(struct mw_buf *, const struct mw_api *, enum mw_wire_what, const char *location,
		  size_t len);

/*
 * Appends this process's answer to MW_WIRE_SELF, with what it says of itself. 0, or -1: no memory.
 */
int mw_wire_write_self(struct mw_buf *, const struct mw_api *, const struct mw_self *);

/*
 * Reads the output of mw_wire_write() of a process of this version. Takes ownership of text,
 * malloc'ed, in any case. 0, or -1: not valid, or no memory; then *w is all zero.
 */
int mw_wire_read(struct mw_wire *w, char *text, size_t n);
void mw_wire_free(struct mw_wire *); /* all zero again */

#endif
