/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - a process's table as another process of its family reads it.
 *
 * Text, so that it can be looked at: a line with the format's version, one
 * with the process's figures, then one for each row and each live block, their fields
 * separated by tabs, locations escaped as in the text dump. Nobody else
 * relies on it: processes of another version are told apart and left out.
 */
#ifndef MW_REPORT_WIRE_H
#define MW_REPORT_WIRE_H

#include "report.h"

/* What one process said. All zero: nothing. Strings point into `text`. */
struct mw_wire {
	long pid;
	bool ruby;             /* Ruby is in it */
	struct mw_stats stats; /* life_unit is static; no other pointer is set */
	struct mw_row *rows;   /* owned; ids are MW_ID_NONE; no NUL within a location */
	size_t n;
	struct mw_live *lives; /* owned; generation is the age; newest first */
	size_t lives_n;
	char *text;            /* owned */
};

enum mw_wire_what {
	MW_WIRE_SELF, /* no rows */
	MW_WIRE_ALL,  /* all rows */
	MW_WIRE_AT    /* one location's row, if there is one, and what lives there */
};

/* This process. location: of MW_WIRE_AT. 0, or -1: no memory. */
int mw_wire_write(struct mw_buf *, const struct mw_api *, enum mw_wire_what, const char *location,
		  size_t len);

/*
 * Reads what mw_wire_write() made in a process of this version; takes text, malloc'ed,
 * over in any case. 0; -1: it is none, or there is no memory: *w is all zero.
 */
int mw_wire_read(struct mw_wire *w, char *text, size_t n);
void mw_wire_free(struct mw_wire *); /* all zero again */

#endif
