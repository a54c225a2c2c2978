/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * login.h - between access.c, which knows who may, routes.c, which asks, and
 * login.c, which answers; for them alone. Requests here have an `access`.
 */
#ifndef MW_PAGES_LOGIN_H
#define MW_PAGES_LOGIN_H

#include "access.h"
#include "pages.h"

#define MW_SESSION_NAME 33 /* bytes of its name in the cookie, with NUL */
#define MW_COOKIE_NAME 12  /* of "mwrap_65535" */

enum mw_knock {
	MW_KNOCK_NONE,  /* there is neither token nor session */
	MW_KNOCK_WRONG,
	MW_KNOCK_LATER, /* there were too many wrong ones: not looked at */
	MW_KNOCK_RIGHT
};

/* access.c */

enum mw_knock mw_access_try(struct mw_access *, const char *token, size_t n);
/* What the request has to show; *session: that it is a session. */
enum mw_knock mw_access_check(const struct mw_request *, bool *session);

/* False: there is no randomness. The session that began first may have to go for it. */
bool mw_session_start(struct mw_access *, char name[MW_SESSION_NAME]);
struct mw_session *mw_session_find(const struct mw_request *); /* NULL: none */
void mw_session_end(struct mw_access *, struct mw_session *);
/* The name of the cookie for the host that the request is for. */
void mw_session_cookie(const struct mw_request *, char out[MW_COOKIE_NAME]);

/* login.c */

/* True: the request may be answered. Else it has been: 401 or 429. */
bool mw_admitted(struct mw_call *);
void mw_page_login(struct mw_call *);
void mw_page_logout(struct mw_call *);

#endif
