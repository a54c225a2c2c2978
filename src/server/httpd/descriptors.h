/* SPDX-License-Identifier: GPL-2.0-or-later */
/* descriptors.h - at which numbers the server's descriptors lie. The server's thread only. */
#pragma once

/* Chooses the numbers by the limit of now, as the server starts. */
void mw_fd_start(void);
/* The lowest number for a descriptor of ours. */
int mw_fd_base(void);
/*
 * Moves fd, which the caller owns, to a number that scripts and select() don't use. Returns the new
 * number, or fd if none is free.
 */
int mw_fd_high(int fd);
/* Copies fd to such a number. Returns the copy, or -1 with errno. */
int mw_fd_copy(int fd);
