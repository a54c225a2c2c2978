/* SPDX-License-Identifier: GPL-2.0-or-later */
/* socket_mode.h - other users' permission to connect to a Unix socket. See socket_mode.c. */
#pragma once

#include <stdint.h>

#include "shared/options/options.h"
#include "socket_lock.h"

/*
 * Gives a bound socket's file the mode and the group of the options. On failure the mode stays
 * 0600, with one line on stderr. Touches only the file that was bound.
 */
void mw_socket_open_up(const struct mw_socket_lock *, const struct mw_options *);
/* The same for a directory made for sockets, by its descriptor's path. */
void mw_socket_dir_open_up(const char *dir, const struct mw_options *);
/* Finds a group's number by its name, in a file such as /etc/group; -1: no such group. */
int64_t mw_group_find(const char *file, const char *name);
