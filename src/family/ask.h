/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ask.h - requests to other processes' servers, all at once.
 *
 * HTTP/1.0 over a Unix socket: the answer ends with the connection, and has no
 * chunks. A descriptor is open for each while mw_ask_all() runs, and after it
 * where `fd` is not -1.
 */
#ifndef MW_FAMILY_ASK_H
#define MW_FAMILY_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

/* An error: who listens there is not of ours (mw_relative_trusted), and has heard nothing. */
#define MW_STRANGER (-1)

struct mw_ask {
	const char *socket;   /* path; borrowed */
	struct mw_buf request; /* owned: all of it */
	bool stream;           /* only the head is waited for; the body follows: mw_ask_more() */
	/* what came of it */
	int error; /* errno, 0: an answer; ETIMEDOUT, ECONNREFUSED, EPROTO, ECONNRESET: cut, MW_STRANGER */
	int status; /* HTTP, 200 to 599 if error is 0 */
	struct mw_buf answer; /* owned: head and what there is of the body */
	size_t body; /* where that begins */
	/* ask.c's */
	int fd; /* -1: closed */
	size_t sent;
};

/* "METHOD TARGET HTTP/1.0", and what begins every request of ours. */
void mw_ask_begin(struct mw_ask *, const char *socket, const char *method, const char *target);
/* A header, unless its value could be more than that. */
void mw_ask_header(struct mw_ask *, const char *name, const char *value);

/* What lets it in where token_file is set; "": nothing. */
void mw_ask_token(struct mw_ask *, const char *token);

/* Sends what was begun (socket isn't NULL) and waits for all, `ms` milliseconds at most. */
void mw_ask_all(struct mw_ask *, size_t n, unsigned ms);

/*
 * What comes next of a stream's body, `ms` milliseconds at most. How much; 0: the end, or it
 * failed; -1: nothing yet.
 */
long mw_ask_more(struct mw_ask *, char *to, size_t size, unsigned ms);

void mw_ask_free(struct mw_ask *);

/*
 * Calls each with every header of the answer, name and value NUL-terminated, the
 * value without spaces around it; not with what isn't one: names are HTTP's tokens, values
 * without control characters. The answer's head is in pieces then. Once.
 */
void mw_ask_headers(struct mw_ask *, void (*each)(void *ctx, const char *name, const char *value),
		    void *ctx);

#endif
