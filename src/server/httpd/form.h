/* SPDX-License-Identifier: GPL-2.0-or-later */
/* form.h - the fields of a posted form as a query, for routes that want that (routes.def). */
#pragma once

#include <stdbool.h>

#include "server/http/message.h"

/*
 * Adds the fields of req's body to its query, so that a request for another process takes them along.
 * *query: the new one, for the caller to free; else it stays. 0, or the status of a refusal and *why.
 */
unsigned mw_form_to_query(struct mw_request *req, char **query, const char **why);
