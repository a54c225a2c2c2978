/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track.h - the tracker as a whole: whether it is on, which mode holds, and which threads
 * may go on.
 *
 * Each interposed function calls one of these, before or after the real one:
 *
 *   admit.h    after an allocation: finds the caller's location, takes a record,
 *              writes the tail, counts
 *   dismiss.h  before a free: finds the record by the tail, counts, gives it back
 *   admit.c    the first, out of line, once for each mode; dismiss.c: the second
 *   shared.h   both, for a thread that may not go on
 *
 * Three words say how: fast is inline, in one thread's own memory, without a lock or an atomic
 * read-modify-write. Cold (cold.c) finds what isn't at hand. Shared (shared.c) uses atomic
 * counters and the shared pool of records. While inside, the thread is busy (shard.h), which
 * a signal handler's calls notice.
 */
#pragma once

#include <stdbool.h>

#include "shared/sys/compiler.h"
#include "tracker/table/shard.h"

#define MW_CALLER ((uintptr_t)__builtin_return_address(0))

/* Lifecycle of the tracker in this process. */
enum mw_life {
	MW_NOT_STARTED,   /* nothing is set up */
	MW_STARTING, /* being set up, by one thread: calls pass through */
	MW_ON,
	MW_CHANGING, /* all records change at once: forget.h. New blocks are told to have none */
	MW_OFF /* set-up failed: calls pass through for ever */
};
extern MW_HIDDEN int mw_life; /* enum mw_life; release */

MW_INLINE bool mw_is_on(void)
{
	return __atomic_load_n(&mw_life, __ATOMIC_ACQUIRE) == MW_ON;
}

/*
 * mode.c chooses the mode of this process (enum mw_mode, in mw_permit). Malloc and free
 * rely on it without looking:
 *
 *   MW_MODE_NONE         nothing holds; tracking may even be off: mw_paused
 *   MW_MODE_BYTES        the allocator is glibc's, whose chunks can be read; no Ruby is here
 *   MW_MODE_RUBY         the same, but GC.count can be read, and lines are found the fast way
 *   MW_MODE_CLASS_BYTES  as MW_MODE_BYTES, on an allocator whose size classes are known (classes.h)
 *   MW_MODE_CLASS_RUBY   as MW_MODE_RUBY, there
 *
 * musl's allocator has the last two, with functions of its own (musl.h).
 *
 * In the two modes with Ruby, malloc may count lines with their callers: mw_permit_ruby.line.
 *
 * The old mode stays correct for a while after a change.
 */
void mw_mode_choose(void);
/* The same once the constructors of libraries beneath ran, when more is known of the allocator. */
void mw_mode_retry(void);
/* For stats.json: "none", "bytes" or "ruby". *why: the reason for "none", or "". */
const char *mw_mode_name(const char **why);
/*
 * Tracking is off. Read only where the mode is MW_MODE_NONE or something isn't
 * at hand, so the fast way pays nothing for it. A block admitted meanwhile gets
 * a tail that says "not counted", as a quiet thread's block does.
 */
extern MW_HOT bool mw_paused;
extern MW_HIDDEN bool mw_was_paused; /* ever. Relaxed; once true, it stays */
/* mode.c. Any thread. Calls under way count before or after it. */
void mw_pause(bool on);
/*
 * All ones if the tracker is on, on glibc, and each block has a tail; else 0. Relaxed: each way checks what it reads.
 */
extern MW_HOT uintptr_t mw_plain;
/*
 * A block without a tail may have an old one at its end, of a block that is gone: tracking was stopped, or allocations
 * were sampled. Relaxed; once true, it stays.
 */
extern bool mw_tails_old;
/* Sets mw_plain, its twin for other allocators (classes.h), and what malloc_usable_size does else (usable.h). */
void mw_tails_expect(bool tails);

extern uint64_t mw_lost; /* blocks that got no record */
void mw_lose(uint32_t size); /* counts one; size: as a record has it */

/*
 * The real malloc, for the app's bytes and the tail's together. On an allocator that
 * isn't glibc's it is a function that asks for mw_padded's size instead. At first it
 * is a function that sets the tracker up, so the fast way needs no check for that. In own threads
 * it is mw_own_roomy.
 */
extern MW_HIDDEN __thread void *(*mw_roomy_malloc)(size_t)__attribute__((tls_model("initial-exec")));
/* The calling own thread is quiet from here on, and gets its blocks as own_blocks.h says. */
void mw_own_blocks_only(void);

/* start.c: this thread's state if its call can go on: set up, not busy, not quiet, not after its end. */
struct mw_shard *mw_shard_now(void);
/* The same as mw_permitted, for a thread with no permit or an old one. */
struct mw_shard *mw_permitted_cold(void);
/*
 * This thread's state if its call can go the fast way: it can go on, and no calls are recorded. NULL:
 * shared.c decides.
 */
MW_INLINE struct mw_shard *mw_permitted(void)
{
	struct mw_shard *t = mw_self;

	return mw_likely(mw_get(&t->permit) == __atomic_load_n(&mw_permit_calls, __ATOMIC_ACQUIRE)) ?
		       t :
		       mw_permitted_cold();
}

/* Sets the tracker up, once: a failure is final. */
void mw_start(void);
/* Return the depth after the call; 0 for a thread without a state while the tracker isn't on. */
unsigned mw_quiet_enter(void);
unsigned mw_quiet_leave(void);
/* Is the calling thread quiet? */
bool mw_is_quiet(void);
/* See api.h. */
void mw_hush(bool on);
uint32_t mw_label_set(uint32_t label);
