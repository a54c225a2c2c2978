/* SPDX-License-Identifier: GPL-2.0-or-later */
/* origin.h - checks of Host, Origin and Referer: a browser names a request's origin there. */
#pragma once

#include <stdbool.h>

#include "message.h"

/* Does Host allow an answer at all? Do Origin and Sec-Fetch-Site allow a change? */
bool mw_host_allowed(const struct mw_request *);
bool mw_origin_allowed(const struct mw_request *);

/*
 * Is it a path of this host, with a query or not, and safe in a header? It begins with one slash
 * and is printable ASCII without spaces.
 */
bool mw_own_path(const char *);

/* The path and query of a Referer from our own host; NULL: none. Borrowed. */
const char *mw_own_referer(const struct mw_request *);
