/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_pages.h - the pages of Ruby's objects.
 *
 * Ruby maps them itself: they are no allocator's blocks, so no location has them. Each address
 * that ever held one has an entry. Its page lives, or is dead and may live again. Entries are
 * found by a hash of the address, and never go away.
 *
 * Any thread; not a signal handler. Writers wait for each other, for a few instructions; they
 * never wait for a reader.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* A page of that many bytes, fewer than 4 GiB, lives at addr from now on. */
void mw_heap_page_born(uintptr_t addr, size_t bytes, uint32_t generation);
/* The page at addr dies, if one of that size lives there; else nothing happens. */
void mw_heap_page_dies(uintptr_t addr, size_t bytes, uint32_t generation);
void mw_heap_sums(struct mw_heap_sums *);
/*
 * The sums and the live pages, in one malloc'ed block that the caller frees with free(). The
 * caller is quiet, and fills in `generation`. NULL: no memory.
 */
struct mw_heap *mw_heap_copy(void);
/* In a forked child. */
void mw_heap_pages_after_fork(void);
