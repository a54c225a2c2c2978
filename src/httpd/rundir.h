/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rundir.h - where the processes of a family meet if `listen` is all that they were given.
 *
 * They share a path, as if `socket` named it: BASE/mwrap-UID/PORT-KEY-PID. BASE is TMPDIR, /tmp,
 * XDG_RUNTIME_DIR (last, since a logout empties it) or /dev/shm, the first one in which a socket
 * can be made. The directory has mode 0700 and belongs to this user, or isn't used. KEY is made
 * of the address and the namespaces of PIDs and the net, so that containers which
 * share a volume keep apart. PID is that of the family's first process.
 *
 * A forked child remembers the path. One that was exec'ed looks for a family whose names have the PID of
 * one of its ancestors, or of a descendant; if there is none yet, its first process is the topmost
 * ancestor with the tracker in it. The server's thread only, but for mw_rundir_child().
 */
#ifndef MW_HTTPD_RUNDIR_H
#define MW_HTTPD_RUNDIR_H

#include <stdbool.h>

#include "server.h"

/*
 * The i-th path to be tried, from 0 on; its directory is there. 0, or -1 with a line in err:
 * the next one may do. 1: there are no more.
 */
int mw_rundir_path(unsigned i, const struct mw_options *, char path[MW_SOCKET_PATH],
		   char err[MW_ERROR_MAX]);

/* This is the family's. */
void mw_rundir_keep(const char *path);
/* "": this process has none. */
const char *mw_rundir_kept(void);

/* Removes what families that ended left in the directory of the path that is kept, and it if it is empty. */
void mw_rundir_sweep(void);

#endif
