/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callsite.h - the table of locations.
 *
 * A location has a small id. Ids index type-stable memory. A lock-free hash table (lfht) finds
 * the id of a Ruby line, or of a native module and offset. Adding is lock-free.
 *
 * callsite.c has the table; ids.c, paths.c and maintain.c are its parts.
 *
 * Counters never go down and never start again: a reset, a fork and a new tenant of an id only
 * move the baseline (baseline.c). The sum for an id is its `flushed` here plus the counts of the
 * shards under that id (shard.h).
 *
 * Lifetime: retire.c takes a location out of the table, and reuses its id only after
 *  (1) every thread that was inside the tracker has left it: no cached id is in use;
 *  (2) a grace period (rcu.h): no reader stands on the node.
 * So a thread inside the tracker (busy) or counted in mw_late walks the table without a
 * read-side section. All others enter one.
 *
 * Lock order: mw_maintenance, then the baselines' lock (snapshot.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "shared/sys/mw_assert.h"
#include "tracker/base/arena.h"
#include "paths.h"
#include "rcu.h"

enum {
	MW_CS_NONE = 0,
	MW_CS_OTHER = 1, /* "(other)": locations that did not fit */
	MW_CS_GONE = 2,  /* "(gone)": retired locations */
	MW_CS_UNKNOWN = 3, /* shows what pending locations counted */
	MW_CS_STARTING = 4, /* Ruby's own allocations before its VM is up */
	MW_CS_JIT = MW_ID_JIT, /* Ruby's compilers: jit_code.h */
	MW_CS_FIRST = 6,
	MW_CS_MAX = MW_ID_END,
	MW_CS_CHUNK = 1024,
	MW_CS_FREES = MW_CS_CHUNK + 64, /* threads that lose a race have one for a moment */
	MW_CS_BASES = 48 * MW_CS_CHUNK /* bytes: baselines of a chunk's locations (baseline.c) */
};

_Static_assert(MW_CS_MAX % MW_CS_CHUNK == 0, "whole chunks");
_Static_assert(MW_CS_MAX / MW_CS_CHUNK <= UINT8_MAX + 1, "mw_callsite.chunk has room for any");

/* The name of a location before MW_CS_FIRST, such as "(other)". */
const char *mw_callsite_special(uint32_t id);

enum mw_cs_kind {
	MW_CS_FREE = 0,
	MW_CS_SPECIAL,
	MW_CS_RUBY,
	MW_CS_NATIVE,
	MW_CS_PENDING /* a Ruby pc whose line is not known yet */
};

/* Sums, each only ever added to. */
struct mw_counters {
	uint64_t bytes, allocs; /* allocated */
	uint64_t freed, frees;  /* bytes and calls */
	uint64_t life_sum;      /* lifespans of the freed, in generations */
};

/* A location's counts outside the shards, of evicted callers and slots, and late threads: atomic adds. */
struct mw_flushed {
	uint64_t bytes, allocs;
};
struct mw_flushed_frees {
	uint64_t freed, frees, life_sum;
	uint64_t life_max; /* epoch << 32 | maximum; compare-and-swap */
};

/* 56 bytes, of which an app may have ten thousand: what few locations have is elsewhere (symbols.h). */
struct mw_callsite {
	struct cds_lfht_node node;
	struct mw_path *path; /* RUBY, NATIVE (may be NULL: no module) */
	struct mw_path *callers; /* RUBY: the text of its callers (callers.h), or NULL */
	uint64_t at; /* RUBY: line; NATIVE: offset; PENDING: pc; FREE: next free id */
	uint32_t alias; /* not 0: its counts belong to that id; release */
	uint32_t seen; /* allocs at the last sweep (retire.c); relaxed */
	uint32_t since; /* epoch in which the tenant began: older maxima are another's */
	uint8_t chunk; /* with its place there, its id: mw_callsite_id */
	uint8_t kind; /* enum mw_cs_kind; release once filled */
	uint8_t leaving; /* retire.c's, under mw_maintenance; 0 outside a sweep */
	uint8_t has_stack; /* stacks.h: one was taken; relaxed, a hint */
};

/*
 * Fields seldom written lie apart, so a forked child's counts leave their pages shared. Most
 * locations never see a free: those that do take an entry of frees[] for good, the next one that
 * isn't taken (flushed.c).
 */
struct mw_cs_chunk {
	struct mw_callsite sites[MW_CS_CHUNK];
	struct mw_flushed flushed[MW_CS_CHUNK];
	uint16_t frees_at[MW_CS_CHUNK]; /* the entry, and 1; 0: none yet. Compare-and-swap, release */
	uint8_t frees_taken[MW_CS_FREES]; /* exchange, acquire */
	uint32_t frees_next; /* relaxed: a hint */
	struct mw_flushed_frees frees[MW_CS_FREES];
};
extern MW_HIDDEN struct mw_cs_chunk *mw_cs_chunks[MW_CS_MAX / MW_CS_CHUNK];

static inline struct mw_callsite *mw_callsite(uint32_t id)
{
	return &__atomic_load_n(&mw_cs_chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE)->sites[id % MW_CS_CHUNK];
}
/* Of a location that has, or had, a tenant. */
static inline uint32_t mw_callsite_id(const struct mw_callsite *c)
{
	return c->chunk * (uint32_t)MW_CS_CHUNK + (uint32_t)(c - mw_get(&mw_cs_chunks[c->chunk])->sites);
}
/* NATIVE: an address of it, by where its module was loaded when it was last seen. */
static inline uintptr_t mw_callsite_addr(const struct mw_path *module, uint64_t at)
{
	return (module ? mw_get(&module->base) : 0) + (uintptr_t)at;
}
static inline struct mw_flushed *mw_flushed(uint32_t id)
{
	return &__atomic_load_n(&mw_cs_chunks[id / MW_CS_CHUNK], __ATOMIC_ACQUIRE)->flushed[id % MW_CS_CHUNK];
}
/* NULL: no free was flushed yet. */
struct mw_flushed_frees *mw_flushed_frees(uint32_t id);
/* Never NULL: takes an entry. Lock-free, async-signal-safe. */
struct mw_flushed_frees *mw_flushed_frees_taken(uint32_t id);
/*
 * In a forked child, before its first free is flushed: the entries that other threads of the parent
 * were about to give to a location are free again.
 */
void mw_flushed_after_fork(void);

/*
 * Maxima can't be subtracted, so each carries the epoch in which it was seen. The epoch goes up
 * at each reset and retirement. A maximum counts if it is not older than the last reset, nor
 * than the id's present tenant.
 */
extern MW_HIDDEN uint32_t mw_epoch_reset;
uint32_t mw_epoch(void);
/* Begins the next epoch. Under mw_rebasing_lock. */
void mw_epoch_next(void);
static inline uint32_t mw_epoch_from(const struct mw_callsite *c)
{
	uint32_t r = __atomic_load_n(&mw_epoch_reset, __ATOMIC_ACQUIRE), b = mw_get(&c->since);

	return r > b ? r : b;
}
/* Raises an id's maximum for an epoch. Lock-free, async-signal-safe. */
void mw_life_max_raise(uint32_t id, uint32_t epoch, uint32_t life);

/* Before anything else; false: no memory, and then nothing else may be called. */
bool mw_callsites_init(void);

/*
 * These find or add a location, and never fail: MW_CS_OTHER if there is no room. The caller is
 * busy (shard.h), or between mw_late_enter and mw_late_leave.
 */
uint32_t mw_callsite_ruby(const char *path, size_t len, uint64_t line);
/* The same with the text of its callers; n is 0: without. */
uint32_t mw_callsite_called(const char *path, size_t len, uint64_t line, const char *callers, size_t n);
uint32_t mw_callsite_native(uintptr_t addr);
/* The module's name in the dynamic linker; for the program, which has none there, its path. */
const char *mw_module_name(const char *l_name);
uint32_t mw_callsite_pending(uintptr_t pc);
/* The same without adding: MW_CS_NONE if there is none. */
uint32_t mw_callsite_pending_known(uintptr_t pc);
/* The same of mw_callsite_called; in a read-side section. */
uint32_t mw_callsite_called_known(const char *path, size_t len, uint64_t line, const char *callers,
				  size_t n);
/* From now on the counts of a pending location belong to location `to`. */
void mw_callsite_resolve(uint32_t pending, uint32_t to);
/* id, or the id that it is an alias of. */
uint32_t mw_callsite_real(uint32_t id);
/* The id whose row shows this one's counts. */
uint32_t mw_callsite_shown(uint32_t id);

uint32_t mw_callsites_end(void); /* one past the highest id in use */
uint32_t mw_callsites_used(void); /* locations in the table */
uint32_t mw_callsites_max(void); /* the most that it can have: MW_CS_MAX, or less without memory */
extern bool mw_locations_full; /* relaxed: some location found no room */
extern uint64_t mw_retired; /* locations folded into "(gone)" so far */

/*
 * Operations under way in threads without a shard (tracker/track/shared.c): their number, below
 * the number of forks that led to this process. A signal handler may fork in the middle of one.
 * The child begins with none and another number of forks, and the rest of that one isn't counted.
 */
enum { MW_LATE_FORK = 1 << 16, MW_LATE_OPS = MW_LATE_FORK - 1 };
extern uint32_t mw_late;
/* Its result is for mw_late_leave. */
static inline uint32_t mw_late_enter(void)
{
	return __atomic_fetch_add(&mw_late, 1, __ATOMIC_SEQ_CST) / MW_LATE_FORK;
}
static inline void mw_late_leave(uint32_t fork)
{
	uint32_t late = mw_get(&mw_late);

	while (late / MW_LATE_FORK == fork &&
	       !__atomic_compare_exchange_n(&mw_late, &late, late - 1, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}
static inline bool mw_late_any(void)
{
	return __atomic_load_n(&mw_late, __ATOMIC_ACQUIRE) & MW_LATE_OPS;
}
/* In a forked child. */
static inline void mw_late_after_fork(void)
{
	mw_late = (mw_late & ~(uint32_t)MW_LATE_OPS) + MW_LATE_FORK;
}

/* --- for retire.c and fork ------------------------------------------------- */
/*
 * Held during a step of a sweep or of the table's growth. A try-lock: only fork waits for it.
 */
bool mw_maintenance_try(void);
void mw_maintenance_end(void);
bool mw_maintenance_mine(void);
/*
 * In a forked child: frees it. held: fork had it, so no step is half done. Else a sweep under way
 * is given up, and the table doesn't grow again if its growth was under way.
 */
void mw_maintenance_after_fork(bool held);
/*
 * Grows the table if it is crowded, and does one step of a sweep if one is due. Never waits.
 * Called before a location is looked up: the caller holds no id that isn't counted yet, since
 * the sweep doesn't wait for the calling thread.
 */
void mw_callsites_maintain(void);
void mw_callsite_unlink(uint32_t id); /* takes it out of the table */
uint32_t mw_callsite_relink(uint32_t id); /* puts it back; or returns the id that took its place */
void mw_callsite_release(uint32_t id); /* drops its texts; id is free */
/*
 * retire.c: waits until no call that began before is still inside, `ms` at most; MW_CALLS_MS is
 * enough, unless the machine is very busy. False: some call still is, or the system has no membarrier(2).
 * Not for the app's allocator calls.
 */
bool mw_calls_left(long ms);
enum { MW_CALLS_MS = 50 };
/* The same for calls of threads with a shard: those that may go on by a permit. */
bool mw_permits_left(long ms);
/*
 * retire.c; under mw_maintenance. mw_retire_begin begins a sweep, unless one is under way; if
 * !now, the sweep only looks, and retires nothing. mw_retire_step: true after the last step.
 */
void mw_retire_begin(bool now);
bool mw_retire_step(void);
bool mw_retire_under_way(void); /* relaxed; any thread */
void mw_retire_give_up(void); /* the next steps put back what left the table */
