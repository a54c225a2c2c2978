/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena.h - the tracker's own memory.
 *
 * Tables that live as long as the process come from mmap, on demand, in
 * pieces; they are never unmapped, so a reader may follow any pointer into
 * them at any time. Short texts come from the real allocator underneath.
 * Neither is ever seen by the counters. Any thread may call; a signal
 * handler may call arena_map and arena_grow only. errno is kept.
 *
 * The ceiling (option memory_max) covers all that stays: locations and their
 * texts, live records, threads' states, and what a reset will need, which is
 * set aside with the locations. It does not cover what a reader needs while
 * it reads (arena_lend), so that pages work when it is reached. What gives way
 * first is decided by shares of it: enum mw_arena_use.
 */
#ifndef MW_BASE_ARENA_H
#define MW_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "atomics.h"
#include "compiler.h"

/* What may still grow near the ceiling: each may use all that those before it may, and some more. */
enum mw_arena_for {
	MW_ARENA_LOCATION, /* seven eighths of it */
	MW_ARENA_RECORD,   /* fifteen sixteenths */
	MW_ARENA_THREAD,   /* all of it, as the next: */
	MW_ARENA_NAME      /* what native locations are called */
};
enum { MW_ARENA_LEAST = 2 << 20 }; /* bytes: what any process needs at its start, and a little */

/* The ceiling in bytes, MW_ARENA_LEAST at least; 0: none. What is held already stays. */
void mw_arena_limit(uint64_t bytes);
uint64_t mw_arena_max(void);
/* Bytes held now: mapped for good, plus texts. Never above mw_arena_max(), but for what was held before. */
uint64_t mw_arena_bytes(void);

/*
 * bytes of zeroed memory for good, page-aligned, left out of core dumps;
 * NULL: none, or the ceiling is reached.
 */
void *mw_arena_grow(size_t bytes, enum mw_arena_for);
/* The same whatever the ceiling says. For what was set aside, see below. */
void *mw_arena_map(size_t bytes);
/* Gives back what these gave: for lost races. */
void mw_arena_unmap(void *p, size_t bytes);
/* Sets bytes aside under the ceiling, for one mw_arena_map_aside() of as many later. False: no room. */
bool mw_arena_set_aside(size_t bytes, enum mw_arena_for);
void mw_arena_put_back(size_t bytes); /* it wasn't needed */
void *mw_arena_map_aside(size_t bytes);

/* As mw_arena_map for a while; not counted. */
void *mw_arena_lend(size_t bytes);
void mw_arena_return(void *p, size_t bytes);

/* Small texts. The functions are libc's until mw_arena_use() names others. NULL as mw_arena_grow. */
void mw_arena_use(void *(*alloc)(size_t), void (*release)(void *));
void *mw_arena_alloc(size_t bytes, enum mw_arena_for);
void mw_arena_free(void *p, size_t bytes);

#endif
