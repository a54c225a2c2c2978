/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranks.h - the order of locks (ranks.def), checked in builds with assertions (mw_assert.h).
 *
 *	mw_rank_wait(MW_RANK_READING);     before a wait for it
 *	pthread_rwlock_rdlock(&lock);
 *	mw_rank_took(MW_RANK_READING);     also after a try that succeeded
 *	...
 *	mw_rank_left(MW_RANK_READING);     before it is free
 *	pthread_rwlock_unlock(&lock);
 *
 * Each thread keeps the ranks that it has. To wait for a rank that isn't above all of these ends the process, with
 * a line that names both. A try waits for nobody: it may come in any order.
 *
 * The fork's handlers may come in a signal handler, with any lock held beneath. Their waits end by
 * themselves. So mw_ranks_aside puts away what the thread has, and mw_ranks_again brings it back.
 *
 * Async-signal-safe: a handler gives back what it takes.
 */
#pragma once

enum mw_rank {
#define MW_RANK(name, what) MW_RANK_##name,
#include "ranks.def"
#undef MW_RANK
	MW_RANKS
};

#ifdef MW_ASSERT
void mw_rank_wait(enum mw_rank);
void mw_rank_took(enum mw_rank);
void mw_rank_left(enum mw_rank);
/* In a forked child: the lock is new, and nobody has it. */
void mw_rank_lost(enum mw_rank);
void mw_ranks_aside(void);
void mw_ranks_again(void);
#else
#define mw_rank_wait(rank) ((void)(rank))
#define mw_rank_took(rank) ((void)(rank))
#define mw_rank_left(rank) ((void)(rank))
#define mw_rank_lost(rank) ((void)(rank))
#define mw_ranks_aside() ((void)0)
#define mw_ranks_again() ((void)0)
#endif
