/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * closes.h - libraries that are being closed.
 *
 * From before a dlclose until after it no native caller is remembered: who looks at the
 * epoch of a page (caller_cache.h; acquire), and then finds no library being closed, remembers
 * nothing that outlives the beginning of the next close. Nor is the dynamic linker asked what
 * an address is called: what it answers with lies in the library.
 */
#ifndef MW_TABLE_CLOSES_H
#define MW_TABLE_CLOSES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Also waits for those that use such an answer, which takes some microseconds: 20 ms at
 * most, for the machine may have stopped one of them.
 */
void mw_close_begin(void);
void mw_close_end(void);
bool mw_closing(void);
/* In a forked child, in which this many are under way, all of its one thread. */
void mw_closes_are(uint32_t n);

/* Libraries stay from here on, until as many ends. False, and no end: some are being closed. */
bool mw_modules_stay(void);
void mw_modules_may_go(void);

#endif
