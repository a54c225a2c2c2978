/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - lines on stderr, each with "mwrap: " before it.
 *
 * A line is written by one system call, which nothing interposes, and allocates nothing.
 * errno is kept. The only place of the tracker, the server and the extension that writes there.
 */
#ifndef MW_BASE_LOG_H
#define MW_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is too long is cut off. Starts with n == 0. */
struct mw_line {
	char s[512];
	size_t n;
};

/* Appends; control characters become "?". */
void mw_line_text(struct mw_line *, const char *);
/* The same for n bytes, of which the last 300 are enough to know a file by. */
void mw_line_end_of(struct mw_line *, const char *, size_t n);
/* In digits; base 10 or 16. */
void mw_line_u64(struct mw_line *, uint64_t, unsigned base);

/*
 * Writes "mwrap: LINE" in one piece, from anywhere: never waits, causes no signal, is no
 * cancellation point, and leaves alone a descriptor 2 that has become a file of the
 * app's. False: not possible now.
 */
bool mw_log_try(struct mw_line *);
/*
 * The same as any program writes to its stderr: waits for a pipe that is full. At load, at exit,
 * and in threads of the tracker's own.
 */
void mw_log_line(struct mw_line *);
void mw_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* At load, for mw_log_try: what descriptor 2 is. */
void mw_log_init(void);

#endif
