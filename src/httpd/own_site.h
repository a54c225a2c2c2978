/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_site.h - the server's site (pages/site.h), with the files of /proc/self that it reads. The
 * server's thread only, except what is for a forked child.
 */
#ifndef MW_HTTPD_OWN_SITE_H
#define MW_HTTPD_OWN_SITE_H

#include "pages/site.h"

struct mw_site *mw_own_site(void);
/* Opens the files. Within mw_moves_begin(). */
void mw_own_site_open(void);
/* See mw_site_second(). */
unsigned mw_own_site_second(void);
/* Closes the files; in a forked child those of the parent. Within mw_moves_begin(). */
void mw_own_site_close(void);
/* In a forked child: forgets the files. */
void mw_own_site_child(void);

#endif
