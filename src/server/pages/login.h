/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login.h - the login: routes.c checks requests by it, login.c answers the refused ones. */
#pragma once

#include "server/http/access.h"
#include "server/http/origin.h"
#include "pages.h"

/* True: the request may be answered. False: it has been, with 401 or 429. */
bool mw_admitted(struct mw_call *);
