/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ask.h - requests to other processes' servers, all at once.
 *
 * HTTP/1.0 over a Unix socket: the answer ends with the connection, and has no
 * chunks. Each request has a descriptor open while mw_ask_all() runs, and
 * afterwards if `fd` is not -1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shared/text/buf.h"

/* An error: an impostor listens there (mw_relative_trusted); nothing was sent to it. */
#define MW_STRANGER (-1)

struct mw_ask {
	const char *socket;   /* path; borrowed */
	struct mw_buf request; /* owned; the whole request */
	bool stream;           /* wait for the head only; mw_ask_more() reads the body */
	/* the result */
	int error; /* errno, 0: an answer; ETIMEDOUT, ECONNREFUSED, EPROTO, ECONNRESET: cut, MW_STRANGER */
	int status; /* HTTP, 200 to 599 if error is 0 */
	struct mw_buf answer; /* owned; the head, and the body so far */
	size_t body; /* offset of the body; 0: the head isn't complete */
	/* ask.c's */
	int fd; /* -1: closed */
	size_t sent;
};

/* Begins a request with its line, "METHOD TARGET HTTP/1.0". */
void mw_ask_begin(struct mw_ask *, const char *socket, const char *method, const char *target);
/* Adds a header, unless its value has control characters, which could inject another one. */
void mw_ask_header(struct mw_ask *, const char *name, const char *value);

/* Adds the token, for relatives with token_file; "": adds nothing. */
void mw_ask_token(struct mw_ask *, const char *token);

/*
 * Sends the n requests, except those with socket NULL; waits for all, `ms` milliseconds at most. If
 * the calling thread must leave meanwhile, the error of those that still wait is ECANCELED.
 */
void mw_ask_all(struct mw_ask *, size_t n, unsigned ms);
/* For threads of ours: says that they must leave (api.h). NULL: they never must. Set before any is started. */
extern bool (*mw_ask_leaving)(void);

/*
 * Reads the next part of a stream's body; waits `ms` milliseconds at most. Returns the number of
 * bytes; 0: the end, or it failed; -1: nothing yet.
 */
long mw_ask_more(struct mw_ask *, char *to, size_t size, unsigned ms);

void mw_ask_free(struct mw_ask *);

/*
 * Calls each with every header of the answer, name and value NUL-terminated, the
 * value without spaces around it. It skips invalid ones: names must be HTTP tokens, values
 * without control characters. Call it once: it cuts the answer's head into pieces.
 */
void mw_ask_headers(struct mw_ask *, void (*each)(void *ctx, const char *name, const char *value),
		    void *ctx);
