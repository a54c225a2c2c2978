/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ancestors.h - which processes led to this one, and whether the tracker is in them.
 *
 * What holds once for a family (a line on stderr, a port) must be known to a child that was
 * exec'ed, which inherits no memory. The kernel's tree of processes knows it, whoever cleaned
 * the environment. Opens files of /proc: while the server starts, when no fork gets in between.
 */
#ifndef MW_HTTPD_ANCESTORS_H
#define MW_HTTPD_ANCESTORS_H

#include <stdbool.h>
#include <stddef.h>

#define MW_ANCESTORS_MAX 64

struct mw_ancestors {
	long pid[MW_ANCESTORS_MAX]; /* this process, its parent, ... */
	size_t n;
};
void mw_ancestors(struct mw_ancestors *);

/*
 * Is a file of this name mapped there, and was that process given the same options? Those that
 * can't be read, as after setproctitle, count as the same. False: it may not be looked at.
 */
bool mw_ancestor_has(long pid, const char *file);

/*
 * Was an ancestor's server running, with the same options? What fails here has failed there,
 * and has been told.
 */
bool mw_ancestor_served(void);

#endif
