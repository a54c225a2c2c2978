/* SPDX-License-Identifier: GPL-2.0-or-later */
/* endpoint.h - the server's facts that other threads may read: see mw_api.server_endpoint. */
#pragma once

#include <stdbool.h>

#include "server/family/family.h"
#include "server/http/access.h"

/* Publishes the endpoint and the token that gives this access to other threads, anew after a change. */
void mw_endpoint_tell(const struct mw_access *);
/* No server runs any more. */
void mw_endpoint_end(void);
/* Any thread. */
bool mw_endpoint_get(struct mw_family *);
/* In a forked child. */
void mw_endpoint_child(void);
