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
	char s[704]; /* the longest message, MW_ERROR_MAX, and a prefix */
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

/* Errors of which there was a line: one bit for each errno. All zero at first; one thread. */
struct mw_log_told {
	uint64_t v[4];
};
/* Is it the first one with that errno? It is told from then on. */
bool mw_log_first(struct mw_log_told *, int err);

/* At load: remembers for mw_log_try what descriptor 2 is. */
void mw_log_init(void);

struct stat;
/*
 * Is the descriptor still where lines go? Yes, if it is the file that it was before (st_mode 0: it was closed), a
 * character device like a terminal, or a log that was opened for appending. Any other file was opened after a
 * close(2). errno changes.
 */
bool mw_is_still_output(int fd, const struct stat *before);
