/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_site.h - the server's site (server/pages/site.h), with the files of /proc/self that it reads.
 *
 * The site is the server's thread's, which lends it to MwrapRack while the loop sleeps: so a
 * process has one history, whichever way it is asked. The holder of `lock` has the site. The server's
 * thread holds the lock in all of the loop but its sleep. A borrower waits for a limited time, and
 * holds the lock for one request.
 *
 * The server's thread only, except what is for others or for a forked child.
 */
#pragma once

#include "server/pages/site.h"

struct mw_site *mw_own_site(void);
/* Opens the files. Within mw_moves_begin(). */
void mw_own_site_open(void);
/* See mw_site_second(). */
unsigned mw_own_site_second(void);
/* Closes the files; in a forked child those of the parent. Within mw_moves_begin(). */
void mw_own_site_close(void);
/* In a forked child: forgets the files, and who has the site. */
void mw_own_site_child(void);

/* The loop begins: from now on others may borrow the site, but this thread has it. */
void mw_own_site_lend(void);
/* Around the loop's sleep. */
void mw_own_site_give(void); /* also ends a loan */
void mw_own_site_take(void);
/* Nobody may borrow it any more. Also in a panic, at any place, and again. */
void mw_own_site_keep(void);

/* Another thread: see mw_httpd_api.site. mw_own_site_give() ends it. */
bool mw_own_site_borrow(struct mw_site **, unsigned ms);
