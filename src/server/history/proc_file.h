/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc_file.h - a file of /proc/self that stays open.
 *
 * Opening it each second could take a number that the application counts on, as in
 * `close(0); open(...)`, and a child forked meanwhile would inherit it. The application may close
 * the descriptor and reuse its number: so the file's identity is kept. System calls only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct mw_proc_file {
	int fd; /* -1: not open */
	dev_t dev;
	ino_t ino;
};

/* Opens it at the number `from` or above, if one is free. On failure fd is -1. */
void mw_proc_open(struct mw_proc_file *, const char *path, int from);
/* The descriptor; -1: it isn't open, or isn't ours any more. */
int mw_proc_fd(const struct mw_proc_file *);
/* Closes it if it is ours. Also for a forked child: there it is the parent's file. */
void mw_proc_close(struct mw_proc_file *);
