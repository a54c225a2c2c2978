/* SPDX-License-Identifier: GPL-2.0-or-later */
/* origin.h - what browsers say about where a request comes from. */
#ifndef MW_HTTP_ORIGIN_H
#define MW_HTTP_ORIGIN_H

#include <stdbool.h>

#include "message.h"

/* May this request be answered at all (Host)? And may it change something? */
bool mw_host_allowed(const struct mw_request *);
bool mw_origin_allowed(const struct mw_request *);

/*
 * Is it a path, with a query or not, that leads nowhere but here, and can be in a header? It
 * begins with one slash and has nothing but printable ASCII in it.
 */
bool mw_own_path(const char *);

/* The path and query that a Referer of our own names, NULL: none. Borrowed. */
const char *mw_own_referer(const struct mw_request *);

#endif
