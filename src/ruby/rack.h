/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rack.h - what the files behind MwrapRack share: rack.c answers requests,
 * rack_site.c keeps what lasts from one to the next, rack_live.c is for those
 * who watch. Ruby's side is lib/mwrap_rack.rb and lib/mwrap/rack/.
 */
#ifndef MW_RUBY_RACK_H
#define MW_RUBY_RACK_H

#include "family/family.h"
#include "pages/site.h"
#include "ext.h"

/*
 * The process's site (../pages/site.h), for one thread at a time: others wait
 * until mw_site_give(). Begun by the first who takes it, in a forked child
 * anew. No Ruby call in between, but the GVL may be held or not; quiet mode must
 * be entered. The history has its point of this second.
 */
struct mw_site *mw_site_take(void);
void mw_site_give(void);

/* rack_family.c: one request that is for other processes. */
struct mw_rack_family {
	struct mw_family family;
	char own_base[1024];
	const struct mw_request *req;
	struct mw_response *res;
};

/*
 * Is the request for others than this process, or for all? If it is for this one by its
 * number, its path and base become what they are without. Sets its mount where
 * there is a family. Quiet mode; both belong to one request.
 */
bool mw_rack_family_begin(struct mw_rack_family *, struct mw_request *);
/* The family of this process; false: it has none. Quiet mode. */
bool mw_rack_family(struct mw_family *);
/* Answers it then. Without the GVL: it blocks, MW_RELAY_MS at most. */
void mw_rack_family_answer(struct mw_rack_family *, const struct mw_request *, struct mw_response *);

/* Each file's part; `pages` is the module Mwrap::Pages. */
void mw_init_rack_live(VALUE pages);
void mw_init_rack_page(VALUE pages);
void mw_init_rack_passage(VALUE pages);

/* A header's name as Rack 3 wants it, in lower case. */
VALUE mw_rack_name(const char *name);

/*
 * A watcher's next event: a String, or nil, there is none. Raises TypeError for
 * what is no watcher, and NoMemoryError.
 */
VALUE mw_watcher_next(VALUE watcher);
/* The event that says where a watcher can go on, after a next that was nil. */
VALUE mw_watcher_end(VALUE watcher);

#endif
