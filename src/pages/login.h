/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login.h - between routes.c, which asks who may, and login.c, which answers who may not. */
#ifndef MW_PAGES_LOGIN_H
#define MW_PAGES_LOGIN_H

#include "http/access.h"
#include "http/origin.h"
#include "pages.h"

/* True: the request may be answered. Else it has been: 401 or 429. */
bool mw_admitted(struct mw_call *);
void mw_page_login(struct mw_call *);
void mw_page_logout(struct mw_call *);

#endif
