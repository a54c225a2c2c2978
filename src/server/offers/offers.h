/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offers.h - libmwrap_httpd.so's offer to the Ruby extension: pages, the stream, the family, and holders.
 *
 * The extension has no code of the server's. The tracker loads the library for it (struct mw_api: load_here), or it does itself
 * in a process without one. That starts nothing. A process has the code and its static data once: those of them that both use,
 * the server's thread and Ruby's threads, are atomic, thread-local or of the site, which has one user at a time.
 */
#pragma once

#include "server/family/ask.h"
#include "server/family/gather.h"
#include "server/holders/holders.h"
#include "server/objects/objects.h"
#include "server/pages/pages.h"
#include "server/pages/site.h"

struct mw_offers {
	const char *version; /* MWRAP_VERSION: both must be of one, as each knows the other's structs */
#define MW_OFFER(name) __typeof__(mw_##name) *name;
#include "offers.def"
#undef MW_OFFER
};

extern const struct mw_offers mwrap_offers __attribute__((visibility("default")));
