/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * access.h - the token, and the sessions of browsers that logged in with it.
 *
 * A server with the option token_file has one mw_access and names it in every
 * request (message.h). mw_route() then requires `Authorization: Bearer TOKEN`,
 * or the cookie of a session, which POST /login gives for the token. A request
 * with neither gets 401, for browsers with a form in HTML. The files of web/
 * need no token.
 *
 *  - A session's id is 128 random bits, independent of the token. The session
 *    ends after MW_SESSION_MS, by POST /logout, with the token and the process.
 *  - Tokens and ids are compared in constant time.
 *  - After MW_FAILURES_MAX wrong tokens in a second all further attempts in that
 *    second fail unseen, right or wrong, against guessing. Sessions stay valid.
 *  - Without a token (token_n is 0) every attempt fails. All zero: the same.
 *
 * The thread that calls mw_route() makes all calls. Only the answers allocate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

#define MW_TOKEN_MIN 16  /* bytes */
#define MW_TOKEN_MAX 512
#define MW_SESSIONS_MAX 64
#define MW_SESSION_MS (UINT64_C(12) * 3600 * 1000)
#define MW_FAILURES_MAX 10u /* a second */
#define MW_LOGIN_BODY_MAX ((size_t)4096)

struct mw_session {
	unsigned char id[16];
	uint64_t until; /* ms of the clock; 0: there is none */
};

struct mw_access {
	size_t token_n;
	char token[MW_TOKEN_MAX]; /* padded with zeros; relatives have the same one */
	struct mw_session sessions[MW_SESSIONS_MAX];
	uint64_t second;   /* of the clock; the second that `failures` counts */
	unsigned failures; /* wrong tokens in that second */
	uint32_t ended; /* grows when a token or a session ends: streams may depend on that one */
	uint64_t (*clock)(void); /* ms, never 0, never backwards; NULL: the monotonic one */
};

#define MW_SESSION_NAME 33 /* bytes of a session's name in the cookie, with NUL */
#define MW_COOKIE_NAME 12  /* bytes of "mwrap_65535", with NUL */

enum mw_knock {
	MW_KNOCK_NONE,  /* neither token nor session */
	MW_KNOCK_WRONG,
	MW_KNOCK_LATER, /* too many wrong tokens before: not looked at */
	MW_KNOCK_RIGHT
};

/* MW_TOKEN_MIN to MW_TOKEN_MAX printable ASCII characters, no spaces. */
bool mw_token_valid(const char *token, size_t n);

/*
 * Sets the token, as a copy; n 0: none. All sessions end if it differs from the one
 * before.
 */
void mw_access_token(struct mw_access *, const char *token, size_t n);

/* Ends expired sessions; call it about once a second. */
void mw_access_expire(struct mw_access *);

/* Zeroes everything. Only writes to *a: safe in a forked child. */
void mw_access_forget(struct mw_access *);

/* --- for answering a request that has an `access` --- */

enum mw_knock mw_access_try(struct mw_access *, const char *token, size_t n);
/* Checks the request's session or token; *session: it has a valid session. */
enum mw_knock mw_access_check(const struct mw_request *, bool *session);

/* Starts a session; evicts the oldest one if all are in use. False: no random numbers yet. */
bool mw_session_start(struct mw_access *, char name[MW_SESSION_NAME]);
struct mw_session *mw_session_find(const struct mw_request *); /* NULL: none */
void mw_session_end(struct mw_access *, struct mw_session *);
/* Writes the name of the cookie, which has the port of the request's Host. */
void mw_session_cookie(const struct mw_request *, char out[MW_COOKIE_NAME]);
