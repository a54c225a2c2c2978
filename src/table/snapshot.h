/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h - copies out of the table, for people.
 *
 * Two things must not change while rows are made: what the baselines are, and whose
 * an id is. So there is one lock, which readers share: mw_reading_lock. A reset and a
 * step of a sweep, which change those, have it alone: mw_rebasing_lock. No
 * allocation waits for it (retire.c only tries), and fork only so long (host/fork.c).
 *
 * While counters are summed the gate is closed (shard.h). A read-side section (rcu.h)
 * covers the walk over the locations. All are left before a call returns.
 * Lock order: mw_maintenance, then this lock.
 *
 * The caller is quiet: these functions allocate.
 */
#ifndef MW_TABLE_SNAPSHOT_H
#define MW_TABLE_SNAPSHOT_H

#include <time.h>

#include "api.h"
#include "callsite.h"
#include "shard.h"

/* What one id counted since the process began (all its tenants). */
struct mw_sum {
	struct mw_counters c;
	uint32_t life_max; /* of the present tenant since the last reset */
};

void mw_reading_lock(void);
void mw_reading_unlock(void);
void mw_rebasing_lock(void);
bool mw_rebasing_try(void);
void mw_rebasing_unlock(void);
bool mw_reading_try(void); /* false: something changes just now */
/* As mw_reading_lock, until a time of CLOCK_MONOTONIC: false then. */
bool mw_reading_lock_until(const struct timespec *);
/* For a handler that forks: may this thread, interrupted, hold the lock? */
bool mw_reading_mine(void);
/*
 * In a forked child: nobody else has the lock. held: fork had it, so nobody was changing
 * anything; else a reset that was under way is done once more.
 */
void mw_reading_after_fork(bool held);

/*
 * Sums for all ids below *end, from mw_arena_lend; NULL: no memory. Closes and
 * opens the gate. Free with mw_sums_free(p, *end).
 */
struct mw_sum *mw_sums(uint32_t *end);
void mw_sums_free(struct mw_sum *, uint32_t end);
/*
 * The same in sums[id - from], for the ids from `from` to before `to`. Doesn't wait: false, if
 * a thread is about to move counts.
 */
bool mw_sums_between(struct mw_sum *sums, uint32_t from, uint32_t to);

/*
 * For retire.c: what the tenant of id, who has nothing live, counted since
 * the reset is added to another id for good, and id is as new: its baseline
 * moves to *s. Under mw_rebasing_lock; false: no memory, nothing is changed.
 */
bool mw_base_fold(uint32_t id, uint32_t into, const struct mw_sum *s);

/* find.c: the row of a Ruby location "PATH:LINE", without a snapshot; false: none. */
bool mw_row_find(const char *location, size_t n, struct mw_row *);
/* find.c: see mw_api.source. */
size_t mw_source_find(const char *name, size_t n, char *to, size_t size);
/*
 * find.c: all rows added up, without a snapshot, and what they counted before the last
 * reset (but for life_sum); false: no memory.
 */
bool mw_row_total(struct mw_row *, struct mw_counters *before);
/* For find.c: adds what the present tenant of id counted since the reset. */
bool mw_row_count(struct mw_row *, uint32_t id, const struct mw_sum *);
/*
 * And, the gate closed: a sum's parts. All frees first, then
 * mw_sum_allocs_next, then allocations: what was seen freed was allocated.
 */
/* Adds what one thread's slot holds. */
void mw_sum_slot(struct mw_sum *, const struct mw_shard *, const struct mw_slot *);
/* What left the slots. */
void mw_sum_flushed_frees(struct mw_sum *, uint32_t id);
/* The frees are summed, the allocations come next: none of the former without its own. */
static inline void mw_sum_allocs_next(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}
/* What one remembered caller counted. */
void mw_sum_caller(struct mw_sum *, const struct mw_caller *);
/* What others counted. */
void mw_sum_flushed_allocs(struct mw_sum *, uint32_t id);

/* symbolize.c: names every native location that has no name yet. Holds nothing. */
void mw_name_natives(void);
/* The same of one module's, in any thread: takes no lock but the dynamic linker's. */
void mw_name_natives_of(const char *module);

struct mw_snapshot *mw_snapshot_take(void);
void mw_snapshot_free(struct mw_snapshot *);
struct mw_lives *mw_lives_take(const uint32_t *ids, size_t n);
void mw_lives_free(struct mw_lives *);
void mw_reset(void);
/* For find.c: under the reading lock. */
struct mw_counters mw_before_reset(void);
/* In a forked child: growth counts from here. family: see fork_baseline.h. Allocates nothing but maps. */
void mw_growth_from_here(bool family);

/* Scale of lifespans and generations as shown: 1, or bytes per unit. */
extern uint64_t mw_life_scale;

#endif
