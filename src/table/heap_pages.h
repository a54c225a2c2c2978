/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_pages.h - the pages that Ruby's objects live in.
 *
 * They are no allocator's blocks (Ruby maps them itself), so no location has
 * them. Each address that ever held one has an entry: its page lives, or it is
 * dead and may live again. Entries are found by a hash of the address, and
 * never go away.
 *
 * Any thread; not a signal handler. Threads that change something wait for each
 * other, for a few instructions; they never wait for a reader.
 */
#ifndef MW_TABLE_HEAP_PAGES_H
#define MW_TABLE_HEAP_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"

/* A page of so many bytes, fewer than 4 GiB, lives at addr from now on. */
void mw_heap_page_born(uintptr_t addr, size_t bytes, uint32_t generation);
/* It dies, if there is one of that size; else nothing happens. */
void mw_heap_page_dies(uintptr_t addr, size_t bytes, uint32_t generation);
void mw_heap_sums(struct mw_heap_sums *);
/*
 * These and the live pages; malloc'ed, in one block that free() frees, by a caller that is
 * quiet. `generation` is the caller's to fill in. NULL: no memory.
 */
struct mw_heap *mw_heap_copy(void);
/* In a forked child. */
void mw_heap_pages_after_fork(void);

#endif
