/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ancestors.h - the processes that led to this one, and whether the tracker is in them.
 *
 * An exec'ed child inherits no memory, but must know what holds once for a family: a line on
 * stderr, a port. The kernel's process tree tells it, even if the environment was cleaned. The
 * server reads /proc only while it starts, when no fork gets in between.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MW_ANCESTORS_MAX 64

struct mw_ancestors {
	long pid[MW_ANCESTORS_MAX]; /* this process, its parent, ... */
	size_t n;
};
void mw_ancestors(struct mw_ancestors *);

/*
 * True if that process has a file of this name mapped and was given the same options. Options that
 * can't be read, as after setproctitle, count as the same. False also if the kernel denies access
 * to the process.
 */
bool mw_ancestor_has(long pid, const char *file);

/* Is the process that forked this one still its parent? */
bool mw_forker_lives(void);

/*
 * True if an ancestor's server was running with the same options. A failure here has then happened
 * and been logged there already.
 */
bool mw_ancestor_served(void);
