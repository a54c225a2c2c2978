/* SPDX-License-Identifier: GPL-2.0-or-later */
/* late.h - a server for a process that began with the tracker, but without one. */
#pragma once

#include <stdbool.h>

/*
 * Starts the server that options, as $MWRAP, ask for; options of other groups do nothing. Forked children have one,
 * too. With the GVL, one at a time. err has MW_ERROR_MAX bytes. False: a line in err, and nothing has changed.
 */
bool mw_serve_late(const char *options, char *err);
