/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack.h - shared by the files behind MwrapRack. rack.c answers requests, rack_site.c keeps the
 * state between them, rack_live.c serves watchers. Ruby's side is lib/mwrap_rack.rb and
 * lib/mwrap/rack/.
 */
#pragma once

#include "offered.h"

/*
 * Takes the process's site (server/pages/site.h) for this thread; others wait until mw_site_give(), the
 * server's thread, too, if it is the server's. Waits for that one `ms` milliseconds at most; NULL:
 * not in time. The first call starts a site of ours, anew in a forked child. No Ruby call in
 * between; quiet mode must be entered, and the GVL released. The history then has its point of
 * this second.
 */
struct mw_site *mw_site_take(unsigned ms);
void mw_site_give(struct mw_site *); /* NULL: does nothing */
/*
 * From now on the history goes on by itself, each second, also in forked children. A server's does
 * that anyway; ours then begins after the end of the server.
 */
void mw_site_begin(void);

/* rack_family.c: one request that other processes answer. */
struct mw_rack_family {
	struct mw_family family;
	char own_base[1024];
	const struct mw_request *req;
	struct mw_response *res;
};

/*
 * True if the request is for another process, or for all. If it has this process's number, that
 * moves from its path to its base. Sets its mount if there is a family. Quiet mode; both belong to
 * one request.
 */
bool mw_rack_family_begin(struct mw_rack_family *, struct mw_request *);
/* Finds the family of this process; false: none. Quiet mode. */
bool mw_rack_family(struct mw_family *);
/* Answers that request. Without the GVL: it blocks, MW_RELAY_MS at most. */
void mw_rack_family_answer(struct mw_rack_family *, const struct mw_request *, struct mw_response *);

/* Each file's part; `pages` is the module Mwrap::Pages. */
void mw_init_rack_live(VALUE pages);
void mw_init_rack_page(VALUE pages);
void mw_init_rack_passage(VALUE pages);

/* A header's name in lower case, as Rack 3 requires. */
VALUE mw_rack_name(const char *name);

/*
 * A watcher's next bytes, which it takes: a String, or nil or false if there are none. Raises
 * TypeError if it isn't a watcher, and NoMemoryError.
 */
VALUE mw_watcher_take(VALUE watcher);
