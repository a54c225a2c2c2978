/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * access.h - the token, and the sessions of browsers that logged in with it.
 *
 * A server with the option token_file has one mw_access and names it in every
 * request (message.h); mw_route() then answers only who proves to know the
 * token: by `Authorization: Bearer TOKEN`, or by the cookie of a session, which
 * POST /login gives for the token. Who comes without either is told so, with a
 * form in HTML; the files of web/ are for everybody.
 *
 *  - A session's id is 128 random bits and says nothing of the token. It ends
 *    after MW_SESSION_MS, with POST /logout, with the token, and with the process.
 *  - Tokens and ids are compared in a time that doesn't depend on what they are.
 *  - After MW_FAILURES_MAX wrong tokens in a second no further one is looked at
 *    until the next, right or wrong: nobody tries out many. Sessions go on.
 *  - Without a token (token_n is 0) nobody gets in.
 *
 * All zero: nobody gets in. One thread makes all the calls, the one that
 * mw_route() is called by. Nothing here allocates but the answers.
 */
#ifndef MW_PAGES_ACCESS_H
#define MW_PAGES_ACCESS_H

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
	char token[MW_TOKEN_MAX]; /* zeros behind it; for asking relatives that have the same one */
	struct mw_session sessions[MW_SESSIONS_MAX];
	uint64_t second;   /* in which there were */
	unsigned failures; /* so many wrong tokens */
	uint32_t ended; /* grows when a token or a session ends: who is being served may have had it */
	uint64_t (*clock)(void); /* ms, never 0, never backwards; NULL: the monotonic one */
};

#define MW_SESSION_NAME 33 /* bytes of its name in the cookie, with NUL */
#define MW_COOKIE_NAME 12  /* of "mwrap_65535" */

enum mw_knock {
	MW_KNOCK_NONE,  /* there is neither token nor session */
	MW_KNOCK_WRONG,
	MW_KNOCK_LATER, /* there were too many wrong ones: not looked at */
	MW_KNOCK_RIGHT
};

/* MW_TOKEN_MIN to MW_TOKEN_MAX printable ASCII characters, no spaces. */
bool mw_token_valid(const char *token, size_t n);

/*
 * This token counts from now on; it is copied. n is 0: none does. Sessions end if it is
 * another one than before.
 */
void mw_access_token(struct mw_access *, const char *token, size_t n);

/* Ends sessions that are past their time: once a second or so. */
void mw_access_expire(struct mw_access *);

/* Forgets everything, also in memory. Only writes to *a: for a forked child. */
void mw_access_forget(struct mw_access *);

/* --- for who answers a request that has an `access` --- */

enum mw_knock mw_access_try(struct mw_access *, const char *token, size_t n);
/* What the request has to show; *session: that it is a session. */
enum mw_knock mw_access_check(const struct mw_request *, bool *session);

/* False: there is no randomness. The session that began first may have to go for it. */
bool mw_session_start(struct mw_access *, char name[MW_SESSION_NAME]);
struct mw_session *mw_session_find(const struct mw_request *); /* NULL: none */
void mw_session_end(struct mw_access *, struct mw_session *);
/* The name of the cookie for the host that the request is for. */
void mw_session_cookie(const struct mw_request *, char out[MW_COOKIE_NAME]);

#endif
