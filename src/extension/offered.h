/* SPDX-License-Identifier: GPL-2.0-or-later */
/* offered.h - the server's library (server/offers/offers.h), loaded when it is needed first. */
#pragma once

#include "server/offers/offers.h"
#include "ext.h"

/* NULL before mw_offers_need(), and written once. Each method that leads to a use calls that first. */
extern const struct mw_offers *mw_offers;
/* With the GVL, with a tracker or without. Raises RuntimeError if the library can't be loaded. */
void mw_offers_need(void);

/* A search for holders. */
struct mw_search {
	struct mw_holders_child child; /* its pid is 0: none is under way */
	struct mw_holders answer; /* its rows are NULL: none yet */
};
