/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * say.h - a line on stderr, from anywhere: in the middle of a free, in a
 * signal handler, on a small stack.
 *
 * It never waits, causes no signal, is no cancellation point, keeps errno,
 * and leaves alone a descriptor 2 that has become a file of the app's.
 */
#ifndef MW_TRACK_SAY_H
#define MW_TRACK_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is too long is cut off. Starts with n == 0. */
struct mw_line {
	char s[480];
	size_t n;
};

/* Appends; control characters become "?". */
void mw_line_text(struct mw_line *, const char *);
/* The same for n bytes, of which the last 300 are enough to know a file by. */
void mw_line_end_of(struct mw_line *, const char *, size_t n);
/* In digits; base 10 or 16. */
void mw_line_u64(struct mw_line *, uint64_t, unsigned base);

/* Writes "mwrap: LINE" in one piece; false: not possible now. */
bool mw_say(struct mw_line *);

/* At load: what descriptor 2 is. */
void mw_say_init(void);

#endif
