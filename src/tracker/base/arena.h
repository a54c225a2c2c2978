/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena.h - the tracker's own memory.
 *
 *  - Tables that live as long as the process come from mmap, on demand, in pieces. They are
 *    never unmapped: a reader may follow any pointer into them at any time. The contents of sparse
 *    memory may be given back (mw_arena_empty): a reader finds zeros then.
 *  - Short texts come from the real allocator underneath.
 *  - The counters never see either.
 *  - Any thread may call; a signal handler may call mw_arena_map and mw_arena_grow only.
 *    errno is kept.
 *
 * The ceiling (option memory_max) covers all that stays: locations and their texts, live
 * records, shards, and the memory of a later reset, set aside with the locations. It does not
 * cover the memory of a reader while it reads (mw_arena_lend): pages work at the ceiling, too.
 * Each use may take a share of the ceiling: enum mw_arena_for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/sys/atomics.h"
#include "shared/sys/compiler.h"

/* Uses of the memory, each with its share of the ceiling. */
enum mw_arena_for {
	MW_ARENA_LOCATION, /* up to seven eighths of it */
	MW_ARENA_RECORD,   /* up to fifteen sixteenths */
	MW_ARENA_THREAD,   /* up to all of it */
	MW_ARENA_HISTORY,  /* up to three quarters: the tables come first */
	MW_ARENA_STACK,    /* up to a half */
	MW_ARENA_NAME,     /* names of native locations: up to all of it */
	MW_ARENA_USES
};
enum { MW_ARENA_LEAST = 2 << 20 }; /* bytes: the need of any process at its start, and a little */

/* The ceiling in bytes, MW_ARENA_LEAST at least; 0: none. Memory held already stays. */
void mw_arena_limit(uint64_t bytes);
uint64_t mw_arena_max(void);
/* Bytes held now: mapped for good, plus texts. Above mw_arena_max() only if held before it. */
uint64_t mw_arena_bytes(void);
uint64_t mw_arena_held(enum mw_arena_for); /* those of one use */

/*
 * bytes of zeroed memory for good, page-aligned; NULL: no memory, or the ceiling is reached. mmap is
 * the only system call: a sandbox may allow what the allocator needs, and no more.
 */
void *mw_arena_grow(size_t bytes, enum mw_arena_for);
/* The same regardless of the ceiling. For memory that was set aside, see below. */
void *mw_arena_map(size_t bytes, enum mw_arena_for);
/* Gives back memory of these two: for lost races. */
void mw_arena_unmap(void *p, size_t bytes, enum mw_arena_for);
/* Sets bytes aside under the ceiling, for one mw_arena_map_aside() of as many. False: no room. */
bool mw_arena_set_aside(size_t bytes, enum mw_arena_for);
void mw_arena_put_back(size_t bytes); /* they weren't needed */
void *mw_arena_map_aside(size_t bytes, enum mw_arena_for);

/*
 * Sparse memory: zeroed, mapped for good, of which a part is in use. The caller counts that part, by
 * mw_arena_take before it touches memory (false: the ceiling is reached), and mw_arena_give. The kernel
 * makes no huge pages of it, if `bytes` is less than one: else a thread's first kilobytes took 2 MB.
 */
void *mw_arena_sparse(size_t bytes);
void mw_arena_unsparse(void *p, size_t bytes); /* for lost races */
bool mw_arena_take(size_t bytes, enum mw_arena_for);
void mw_arena_give(size_t bytes, enum mw_arena_for);
/* Gives the contents of whole pages back: all zeros from here on. False: the kernel refuses, and they stay. */
bool mw_arena_empty(void *p, size_t bytes);

/* Leaves what was mapped for good since the last call out of core dumps. Not on the way of an allocation. */
void mw_arena_hide(void);

/*
 * Calls f with each piece of memory that is mapped for good, in no order. Any thread. A piece that is
 * given back meanwhile may be missing or present.
 */
void mw_arena_each(void (*f)(uintptr_t start, size_t bytes, void *ctx), void *ctx);

/* As mw_arena_map, until mw_arena_return; not counted. */
void *mw_arena_lend(size_t bytes);
void mw_arena_return(void *p, size_t bytes);

/* Address space without memory, to be given back by mw_arena_return when space is needed; not counted. */
void *mw_arena_room(size_t bytes);
/* Makes whole pages of such space memory, for good: zeroed, not counted. False: no memory. */
bool mw_arena_fill(void *room, size_t bytes);

/* Small texts, by libc's functions until mw_arena_use() names others. NULL as mw_arena_grow. */
void mw_arena_use(void *(*alloc)(size_t), void (*release)(void *));
void *mw_arena_alloc(size_t bytes, enum mw_arena_for);
void mw_arena_free(void *p, size_t bytes, enum mw_arena_for);
