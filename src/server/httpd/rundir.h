/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rundir.h - the socket path of a family that was given `listen` alone.
 *
 * The processes share a path, as if `socket` named it: BASE/mwrap-UID/PORT-KEY-PID. BASE is TMPDIR,
 * /tmp, XDG_RUNTIME_DIR (late, since a logout empties it) or /dev/shm: the first one that allows a
 * socket. The directory must have mode 0700 and belong to this user. KEY is a hash of the address
 * and of the PID and network namespaces, so containers that share a volume don't collide. PID is
 * that of the family's first process.
 *
 * A forked child remembers the path. An exec'ed process looks for a family whose names have the PID
 * of one of its ancestors or descendants. If there is none yet, the first process is the topmost
 * ancestor with the tracker in it. The server's thread only.
 */
#pragma once

#include <stdbool.h>

#include "server/family/family.h"
#include "shared/options/options.h"

/*
 * Finds the i-th path to try, from 0 on; its directory exists then. Returns 0; -1: the
 * next one may do, and err says why not this one, if something failed; 1: there are no more.
 */
int mw_rundir_path(unsigned i, const struct mw_options *, char path[MW_SOCKET_PATH],
		   char err[MW_ERROR_MAX]);

/* Sets the family's path. */
void mw_rundir_keep(const char *path);
/* Returns the family's path; "": this process has none. */
const char *mw_rundir_kept(void);
/* The kept path's directory. False: this process has none. */
bool mw_rundir_dir(char dir[MW_SOCKET_PATH]);
/*
 * Removes the directory if it is empty. Also called at exit, by the thread that gave up waiting for the
 * server's.
 */
void mw_rundir_remove(void);
