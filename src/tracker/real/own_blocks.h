/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_blocks.h - blocks in the tracker's own memory, for callers of malloc that must not get one of the app's allocator:
 *
 *   own threads (tracker/base/own_thread.h)  they never call that allocator, nor do libraries that they call
 *   dlsym                                    while the real functions are being found
 *
 * A child that is forked past fork(3), by clone(2) or the system call, runs no handler of an allocator's. A lock that an
 * own thread held at that moment would be held there for ever. So own threads take none. Nor does an allocator
 * make an arena or a cache for them, or learn from the sizes that they free.
 *
 * Not in a process that ran before (mw_real_joined): there some calls go past the tracker, and all do after Mwrap.stop.
 * The real allocator would be told to free a block of ours. So own threads get the allocator's.
 *
 * Such a block has the room that was asked for and MW_OWN_TAIL bytes, and the word before it looks like glibc's:
 * the fast ways read it without a check. The tail is no record's. Code that hands a block to the real allocator asks
 * mw_own_is first. Any thread may free a block.
 *
 *   small  in one range of addresses, by size classes; never given back
 *   large  in a mapping of its own, which the free unmaps
 *
 * Locks: own threads that take a small block exclude each other. A free is one compare and swap, and waits for nobody. In
 * a forked child mw_own_after_fork opens the lock, whoever held it. errno is kept, but for ENOMEM of NULL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/sys/compiler.h"
#include "tracker/base/own_thread.h"
#include "real.h"

enum { MW_OWN_HEAD = 16, MW_OWN_TAIL = 8, MW_OWN_PAGE = 4096 };

/* The range of small blocks; 0 bytes: there is none yet. Written once. */
extern MW_HIDDEN uintptr_t mw_own_start, mw_own_bytes;
extern MW_HIDDEN uint32_t mw_own_large_used; /* relaxed; 0: no block was large */
bool mw_own_large_is(const void *p);

MW_INLINE bool mw_own_small_is(const void *p)
{
	return mw_unlikely((uintptr_t)p - mw_own_start < mw_own_bytes);
}

/* Is the calling thread one that gets such blocks? */
MW_INLINE bool mw_own_blocks_here(void)
{
	return mw_own_thread_here && !mw_real_joined;
}

/* Is it one of these blocks? Any live block, or NULL. */
MW_INLINE bool mw_own_is(const void *p)
{
	return mw_own_small_is(p) ||
	       (mw_unlikely(((uintptr_t)p & (MW_OWN_PAGE - 1)) == MW_OWN_HEAD) &&
		__atomic_load_n(&mw_own_large_used, __ATOMIC_RELAXED) && mw_own_large_is(p));
}

/* n bytes; align: a power of two. They aren't zero. NULL: no memory. Not in a signal handler. */
void *mw_own_alloc(size_t align, size_t n);
/* The same for n bytes less the tail's, as mw_roomy_malloc (tracker/track/track.h). */
void *mw_own_roomy(size_t n);
/* Bytes of memory that such blocks took so far, less the large ones that are free again. Any thread. */
uint64_t mw_own_held(void);
/* These two: if it is one. */
void mw_own_free(void *p);
size_t mw_own_size(const void *p); /* its room, with the tail's bytes */

/*
 * own_left.c. An own thread frees a block of the app's allocator: another thread does so by mw_own_free_left, soon. Any
 * thread. left is cheap if there is none.
 */
void mw_own_leave(void *p);
void mw_own_free_left(void);

/* Frees any block as the calling thread may: one of these, the allocator's, or by leaving it. */
static inline void mw_own_or_real_free(void *p)
{
	if (mw_own_is(p))
		mw_own_free(p);
	else if (mw_own_blocks_here())
		mw_own_leave(p);
	else
		mw_real.free(p);
}

/* In a forked child. */
void mw_own_after_fork(void);
