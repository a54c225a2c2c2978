/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "offers.h"

#include "api/version.h"

const struct mw_offers mwrap_offers = {
	.version = MWRAP_VERSION,
#define MW_OFFER(name) .name = mw_##name,
#include "offers.def"
#undef MW_OFFER
};
