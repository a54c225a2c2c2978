/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot.h - copies out of the table, for reports.
 *
 * Baselines and the tenants of ids must not change while rows are made. One lock guards both.
 * Readers share it: mw_reading_lock. A reset and a step of a sweep, which change them, have it
 * alone: mw_rebasing_lock. No allocation waits for it (retire.c only tries); fork waits for a
 * limited time (tracker/process/fork.c).
 *
 * While counters are summed the gate is closed (shard.h). A read-side section (rcu.h) covers the
 * walk over the locations. A call leaves all three before it returns.
 * Lock order: mw_maintenance, then this lock.
 *
 * The caller is quiet: these functions allocate.
 */
#pragma once

#include "api/api.h"
#include "callsite.h"
#include "shard.h"

/* The counts of one id since the process began, of all its tenants. */
struct mw_sum {
	struct mw_counters c;
	uint32_t life_max; /* of the present tenant since the last reset */
	uint32_t samples; /* live blocks that stand for others (sampled_blocks.h) */
	uint64_t variance; /* of live bytes for that reason, in KiB squared */
};

/* Bytes live now. A writer may be between two counters: the difference may be negative, and shows as 0. */
uint64_t mw_sum_live(const struct mw_sum *);

/* Adds what sampled blocks make uncertain to the sums of the ids from `from` to before `to`. */
void mw_sum_sampled(struct mw_sum *sums, uint32_t from, uint32_t to);

void mw_reading_lock(void);
void mw_reading_unlock(void);
void mw_rebasing_lock(void);
bool mw_rebasing_try(void);
void mw_rebasing_unlock(void);
bool mw_reading_try(void); /* false: a reset or a step of a sweep has the lock */
/* As mw_reading_lock, until a moment of mw_now_ns: false then. */
bool mw_reading_lock_until(uint64_t until);
/* For a signal handler that forks: may the interrupted thread hold the lock? */
bool mw_reading_mine(void);
/*
 * In a forked child: no other thread has the lock. held: fork had it, so no change was under
 * way. Else a reset that was under way is done once more.
 */
void mw_reading_after_fork(bool held);
/* reading.c's part of that. False: this thread has the lock, and has it still. */
bool mw_reading_lock_after_fork(void);

/*
 * Sums for all ids below *end, in memory from mw_arena_lend; NULL: no memory. Closes and opens
 * the gate. Free with mw_sums_free(p, *end).
 */
struct mw_sum *mw_sums(uint32_t *end);
void mw_sums_free(struct mw_sum *, uint32_t end);
/*
 * The same in sums[id - from], for the ids from `from` to before `to`. Doesn't wait: false if a
 * thread is moving counts.
 */
bool mw_sums_between(struct mw_sum *sums, uint32_t from, uint32_t to);

/*
 * For retire.c: adds the counts of id's tenant since the reset to `into`, for good. The tenant
 * has nothing live. id is then as new: its baseline moves to *s. Under mw_rebasing_lock.
 * False: no memory, nothing is changed.
 */
bool mw_base_fold(uint32_t id, uint32_t into, const struct mw_sum *s);

/* lookup.c: the row of a Ruby location "PATH:LINE", without a snapshot; false: none. */
bool mw_row_find(const char *location, size_t n, struct mw_row *);
/* lookup.c: see mw_api.source. */
size_t mw_source_find(const char *name, size_t n, char *to, size_t size);
/*
 * lookup.c: all rows added up, without a snapshot, and their counts before the last reset
 * (without life_sum); false: no memory.
 */
bool mw_row_total(struct mw_row *, struct mw_counters *before);
/* For lookup.c: adds the counts of id's present tenant since the reset. False: the row is zero. */
bool mw_row_count(struct mw_row *, uint32_t id, const struct mw_sum *);
/*
 * For lookup.c, with the gate closed: the parts of a sum. All frees come first, then
 * mw_sum_allocs_next, then allocations: each block seen freed is seen allocated.
 */
/* Adds the counts in one shard's slot. */
void mw_sum_slot(struct mw_sum *, const struct mw_shard *, const struct mw_slot *);
/* Adds the frees that left the slots. */
void mw_sum_flushed_frees(struct mw_sum *, uint32_t id);
/* Between frees and allocations: each free that was summed has its allocation in the rest. */
static inline void mw_sum_allocs_next(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}
/* Adds the counts of one entry of a caller cache. */
void mw_sum_caller(struct mw_sum *, const struct mw_caller *);
/* Adds the allocations outside the caller caches. */
void mw_sum_flushed_allocs(struct mw_sum *, uint32_t id);

/* symbolize.c: names every native location without a name. Holds no lock meanwhile. */
void mw_name_natives(void);
/* The same for one module's locations, in any thread: waits for nothing. */
void mw_name_natives_of(const char *module);

struct mw_snapshot *mw_snapshot_take(void);
void mw_snapshot_free(struct mw_snapshot *);
struct mw_lives *mw_lives_take(const uint32_t *ids, size_t n);
void mw_lives_free(struct mw_lives *);
/* See mw_api.each_live, mw_api.live_leads. */
void mw_lives_each(void (*f)(const struct mw_live *, void *ctx), void *ctx);
bool mw_live_leads(const struct mw_live *, size_t room);
/* places.c, live_sums.c: see mw_api. */
struct mw_places *mw_places_take(uint64_t least);
void mw_places_free(struct mw_places *);
bool mw_live_sums_take(struct mw_live_sums *);
void mw_live_sums_free(struct mw_live_sums *);
void mw_reset(void);
/* For lookup.c: under the reading lock. */
struct mw_counters mw_before_reset(void);
/*
 * In a forked child: growth counts from here. family: sets the fork baselines, too. Allocates
 * by mmap only.
 */
void mw_growth_from_here(bool family);

/* Scale of shown lifespans and generations: 1, or bytes per unit. */
extern uint64_t mw_life_scale;
