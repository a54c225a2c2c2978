/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.h - tracking that begins in a running process, and stops there.
 *
 * The tracker sleeps in a process that it joined (mw_real_joined): its constructor did nothing, and
 * no call comes to it. mw_attach does what the constructor does elsewhere (load.c), then leads the
 * process's calls to the hooks (tracker/hooks/got.h). mw_detach leads them back. The tables stay, and can be
 * read; nothing is unloaded.
 *
 * Calls of both: in a Ruby thread with the GVL, one at a time, with no lock of ours. Any other thread
 * may allocate, load libraries, fork and read meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Begins, or goes on after mw_detach. options: as $MWRAP; NULL or "": none, or those of the beginning.
 * err has MW_ERROR_MAX bytes. False: a line in err, and nothing is led to a hook. A process that began with the
 * tracker gets a server, if it has none: late.h.
 */
bool mw_attach(const char *options, char *err);
/* False: a line in err, and nothing has changed. */
bool mw_detach(char *err);

/*
 * Does what mwrapctl asks for (shared/sys/request.h), and answers: neither without a request. False: tracking
 * has never begun.
 */
bool mw_asked(void);

/* How tracking began: as in mw_stats. */
const char *mw_attached_how(void);
/* Age of the process when tracking began, in seconds; 0 in a process that began with it. */
double mw_attached_at(void);
/* mw_stats.before_bytes; false: not known. */
bool mw_attached_before(uint64_t *bytes);
