/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * closes.h - libraries that are being closed.
 *
 * From before a dlclose until after it:
 *  - No native caller is cached. A thread reads a page's epoch first (caller_cache.h; acquire).
 *    If it then finds no close under way, its entry is stale once the next close begins.
 *  - Nobody looks for an address's name: the name lies in the library.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * mw_close_begin also waits for threads that still use a name, for some microseconds. It waits
 * 20 ms at most: one of them may be descheduled.
 */
void mw_close_begin(void);
void mw_close_end(void);
bool mw_closing(void);
/* In a forked child: its one thread has n closes under way, and there are no others. */
void mw_closes_are(uint32_t n);

/*
 * Keeps libraries until as many calls of mw_modules_may_go. False: a close is under way, nothing
 * is kept, and the caller must not call mw_modules_may_go.
 */
bool mw_modules_stay(void);
void mw_modules_may_go(void);
