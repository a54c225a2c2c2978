/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dl.h - dlclose in a forked child. */
#ifndef MW_HOOKS_DL_H
#define MW_HOOKS_DL_H

/* In a forked child: drops other threads' dlclose, which never end there. */
void mw_closes_after_fork(void);

#endif
