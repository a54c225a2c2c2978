/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cleanup.h - removes the stale sockets and locks of processes that ended without cleaning up: by
 * _exit(2), as Debian's shell does, by a signal, or by exec.
 *
 * The process with the family's path looks once a second; in a directory of sockets every process
 * does. A look is a stat of the directory and two system calls for each relative. After a change, and
 * every MW_CLEANUP_FULL_MS, a thread reads the directory and removes what has no owner any more. In the
 * directory of rundir.c, each full cleanup includes the families that have ended. The thread has its own
 * descriptor table: a child forked meanwhile inherits none of its descriptors.
 */
#pragma once

#include <stdint.h>

/* path, dir: as in mw_family; "": none. Begins a cleanup if there is a reason. */
void mw_cleanup_look(const char *path, const char *dir, uint64_t now);
/* A whole cleanup in this thread: the process ends. */
void mw_cleanup_now(const char *path, const char *dir);
/*
 * Removes what ended families left in the directory of rundir.c, and the directory if it is empty.
 */
void mw_cleanup_rundir(void);
/* Forget what was seen: at the server's end, and in a forked child (system calls only). */
void mw_cleanup_end(void);
void mw_cleanup_child(void);
