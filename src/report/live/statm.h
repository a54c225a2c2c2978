/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * statm.h - /proc/self/statm, kept open.
 *
 * Opening it each second could take a number that the application counts on, as in
 * `close(0); open(...)`. The application may also close ours and reuse its number. So the file's
 * identity is noted, and nothing else is read or closed.
 *
 * System calls only: a forked child may call all of this. One thread at a time.
 */
#ifndef MW_REPORT_LIVE_STATM_H
#define MW_REPORT_LIVE_STATM_H

#include <stdbool.h>
#include <sys/types.h>

struct mw_statm {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

#define MW_STATM_NONE { .fd = -1 }

/* Opens it. keep: moves the new descriptor, and returns its number; NULL: it stays where it is. */
void mw_statm_open(struct mw_statm *, int (*keep)(int fd));
/* The descriptor if it still is that file of this process, else -1. */
int mw_statm_fd(const struct mw_statm *);
/* Closes it, if it is ours. */
void mw_statm_close(struct mw_statm *);

#endif
