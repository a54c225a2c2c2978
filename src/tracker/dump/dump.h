/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump.h - shared by the dump at exit (dump.c) and the periodic ones
 * (periodic.c), and by these two only: rendering the rows as the options ask,
 * and writing them.
 */
#pragma once

#include <sys/types.h>

#include "shared/report/report.h"

/*
 * Appends the rows, chosen and formatted as the options say, sorted by column
 * `sort` (-1: the default). False: no memory. The caller is quiet.
 */
bool mw_dump_render(struct mw_buf *, const struct mw_api *, int sort);

/* write(2); at exit the system call instead, since other libraries' destructors have run. */
typedef ssize_t mw_write(int fd, const void *s, size_t n);
/* Writes all n bytes, in the pieces that dump.c describes: 0 or an errno. */
int mw_dump_write(mw_write *, int fd, const char *s, size_t n);

/* One line on stderr, in one write: "mwrap: KEY NAME: REASON", printable. */
void mw_dump_complain(const char *key, const char *name, const char *reason);
void mw_dump_complain_errno(const char *key, const char *name, int err);
