/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit_verdict.h - the verdict at the end of the server, for the exit dump. */
#pragma once

#include "server/pages/site.h"

/* Any thread; a forked child: there are none. */
void mw_exit_verdict_reset(void);
/* Keeps the server's last verdict, if the exit dump has room for it. */
void mw_exit_verdict_keep(struct mw_site *);
/* See mw_httpd_api. Any thread. */
const char *mw_exit_verdict(void);
