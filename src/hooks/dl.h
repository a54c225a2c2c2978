/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dl.h - libraries that are closed. */
#ifndef MW_HOOKS_DL_H
#define MW_HOOKS_DL_H

/* In a forked child: other threads' dlclose doesn't end there. */
void mw_closes_after_fork(void);

#endif
