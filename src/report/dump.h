/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump.h - what the dump at exit (dump.c) and the periodic ones (periodic.c)
 * share: the rows as the options ask for them, and writing them. For these
 * two only.
 */
#ifndef MW_REPORT_DUMP_H
#define MW_REPORT_DUMP_H

#include <sys/types.h>

#include "report.h"

/*
 * Appends the rows, chosen and formatted as the options say, by column `sort`
 * (-1: the default). False: no memory. The caller is quiet.
 */
bool mw_dump_render(struct mw_buf *, const struct mw_api *, int sort);

/* write(2), or the system call: at exit that, since others' destructors have run. */
typedef ssize_t mw_write(int fd, const void *s, size_t n);
/* Writes all of it as dump.c says: 0 or an errno. */
int mw_dump_write(mw_write *, int fd, const char *s, size_t n);

/* One line on stderr, in one write: "mwrap: KEY NAME: REASON", printable. */
void mw_dump_complain(const char *key, const char *name, const char *reason);
void mw_dump_complain_errno(const char *key, const char *name, int err);

#endif
