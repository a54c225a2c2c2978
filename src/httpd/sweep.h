/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sweep.h - sockets and locks that processes left behind which ended without a word: by _exit(2),
 * as Debian's shell does, by a signal, or by exec.
 *
 * Whoever has the family's path looks once a second, in a directory of sockets everybody. Looking
 * is a call of stat for the directory and two system calls for each relative. Only where something has
 * changed a thread reads the directory and removes what has no owner any more. It has a table of
 * descriptors of its own, so that a child that is forked meanwhile gets none of those opened there.
 */
#ifndef MW_HTTPD_SWEEP_H
#define MW_HTTPD_SWEEP_H

#include <stdint.h>

#include "server.h"

/* path, dir: as in mw_family; "": none. Begins a sweep if there is a reason. */
void mw_sweep_look(const char *path, const char *dir, uint64_t now);
/* All of it, in this thread: the process ends. */
void mw_sweep_now(const char *path, const char *dir);
/* Every socket of ours in a directory of which nobody has the lock, whichever family's. */
void mw_sweep_all(const char *dir);
/* Forgets what was seen: at the server's end; and in a forked child, by system calls only. */
void mw_sweep_end(void);
void mw_sweep_child(void);

#endif
