/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unix_socket.h - Unix sockets at locked paths. See unix_socket.c. The server's thread only. */
#pragma once

#include <stdbool.h>

#include "listeners.h"
#include "shared/options/options.h"
#include "socket_lock.h"

/*
 * Listens on `abs`, an absolute path, or on `abs`.PID if another process has it. shared: the process that forked
 * this one, if it lives, may just be about to take it. Returns 0; -1: a line in err.
 */
int mw_unix_open(struct mw_listener *l, const char *abs, bool shared, char err[MW_ERROR_MAX]);
/*
 * Locks BEFORE, this process's number, and BEHIND. A process of another PID namespace may have the same number: then
 * the namespace goes into the name, too.
 */
enum mw_socket_locked mw_unix_lock_numbered(struct mw_listener *l, const char *before,
					    const char *behind, char err[MW_ERROR_MAX]);
/* Listens on a locked path. Returns 0; -1: a line in err, and the path isn't locked any more. */
int mw_unix_open_locked(struct mw_listener *l, char err[MW_ERROR_MAX]);
/*
 * Listens, while the loop runs, on a family's path that is free, or on a path with this PID added.
 * Returns NULL if that fails, or if another process was first.
 */
struct mw_listener *mw_unix_take(const char *path);
struct mw_listener *mw_unix_beside(const char *path);
/* True if this process has Ruby, or is about to. */
bool mw_have_ruby(void);
