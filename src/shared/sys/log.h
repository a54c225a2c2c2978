/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - lines on stderr, each with the prefix "mwrap: ".
 *
 * One system call, which nothing interposes, writes a line; that allocates nothing.
 * errno is kept. Tracker, server and extension write to stderr only here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts with n == 0. A text that is too long is cut off. */
struct mw_line {
	char s[512];
	size_t n;
};

/* Appends; control characters become "?". */
void mw_line_text(struct mw_line *, const char *);
/* The same for n bytes, of which it keeps the last 300: enough to recognise a file. */
void mw_line_end_of(struct mw_line *, const char *, size_t n);
/* In digits; base 10 or 16. */
void mw_line_u64(struct mw_line *, uint64_t, unsigned base);

/*
 * Writes "mwrap: LINE" in one piece, from anywhere. It never waits, causes no signal and is no
 * cancellation point. It doesn't write if descriptor 2 has become a file of the app.
 * False: not possible now.
 */
bool mw_log_try(struct mw_line *);
/*
 * The same, whatever descriptor 2 is now, and it waits for a pipe that is full for 50 ms: then the line is
 * lost, since nobody reads it. It causes no signal either.
 */
void mw_log_line(struct mw_line *);
void mw_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* At load: remembers for mw_log_try what descriptor 2 is. */
void mw_log_init(void);
