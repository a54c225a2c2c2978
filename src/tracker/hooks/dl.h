/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dl.h - dlclose in a forked child. */
#pragma once

/* In a forked child: drops other threads' dlclose, which never end there. */
void mw_closes_after_fork(void);
