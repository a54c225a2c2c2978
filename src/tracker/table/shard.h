/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shard.h - a thread's own counters, caller cache and free records.
 *
 * Only its thread writes a shard, with plain stores. Readers sum the counters of all shards.
 * Shards are never unmapped. A new thread adopts an ended one's: a few keep their counts and memory; of
 * the others the counts go to `flushed`, and the memory is given back (shards.c).
 *
 * slots[]: a direct-mapped cache of counters, by location. callers[]: the caller cache, two places
 * for each caller (caller_cache.h), with counters too. On a collision the owner moves the old
 * counts to the location's `flushed` (claim). A reader must not see them in both places, or in
 * none. So it closes the gate, and waits for moves under way. While the gate is closed, a colliding
 * thread adds straight to `flushed`, which is one place, and caches no other caller.
 *
 * permit: one comparison tells the usual path all that it must know.
 *  - A thread carries the mw_permit that it saw last, and may go on while that is the present one.
 *  - It lays the permit down while it is quiet, and while it is inside the tracker (busy). A signal
 *    handler that allocates meanwhile takes the shared, atomic path (tracker/track/shared.c), and other
 *    threads can wait for the busy one: mw_calls_left.
 *  - mw_permit changes when a reset begins an epoch, or the mode changes. Each thread then ends its
 *    own old epoch before it goes on (mw_shard_renew). So the maxima in its slots are always
 *    those of the epoch in `known`.
 *  - The permit is laid down before it is compared. A thread that changes mw_permit, then waits for
 *    the busy ones, has seen the last call under the old permit end.
 */
#pragma once

#include "callsite.h"
#include "record.h"
#include "shared/sys/mw_assert.h"
#include "tracker/base/wait.h"

enum {
	MW_SLOTS = 1024,   /* locations with counters at hand, at most */
	MW_CALLERS = 1024, /* callers with ids at hand, at most */
	MW_FEW_SLOTS = 32, /* at first: a page has these, the callers and the shard's own words */
	MW_FEW_CALLERS = 64,
	MW_CROWDED = 16,   /* evictions after which there are twice as many */
	MW_ENTRY = 32,     /* bytes of a slot and of a caller */
	MW_LIFE_BEHIND = 1 << 20, /* generations; more than the lag of 4,000 threads' clocks */
	MW_FULL = 64       /* full batches of free records kept: 16,384 of them */
};

/* A thread's frees of one location's blocks. */
struct mw_slot {
	uint64_t freed, frees, life_sum; /* as in mw_counters */
	uint32_t id;
	uint32_t life_max; /* release; in the thread's epoch: mw_shard_epoch */
} __attribute__((aligned(32)));

/*
 * An entry of the caller cache: see caller_cache.h. The caller's allocations are counted here, in
 * the cache line that the lookup read, until the entry becomes another location's. Frees are
 * counted in the location's slot.
 */
struct mw_caller {
	uintptr_t pc;
	uint32_t id;
	uint32_t changes;
	uint64_t bytes, allocs;
} __attribute__((aligned(32)));

/*
 * The present permit: the mode in the low three bits (enum mw_mode; see track.h), and the epoch
 * above (callsite.h). Acquire: what the mode says is set up. mw_permit_ruby and the others have the
 * same value in the mode of that name, else MW_PERMIT_NOBODY.
 */
extern MW_HOT uint32_t mw_permit, mw_permit_bytes;
/* ruby: for free. line: for malloc; MW_PERMIT_NOBODY while lines are counted with their callers. */
struct mw_permit_ruby {
	uint32_t ruby, line;
};
extern MW_HOT_STRUCT struct mw_permit_ruby mw_permit_ruby;
void mw_permit_callers(bool with);
extern MW_HOT uint32_t mw_permit_class_ruby, mw_permit_class_bytes;
/*
 * The same as mw_permit, but MW_PERMIT_NOBODY while calls are recorded (tracker/track/events.h). So are the four
 * above then: no call goes the fast way, and while nothing is recorded none pays for it.
 */
extern MW_HOT uint32_t mw_permit_calls;
void mw_permit_record(bool on);
enum mw_mode { MW_MODE_NONE, MW_MODE_BYTES, MW_MODE_RUBY, MW_MODE_CLASS_BYTES, MW_MODE_CLASS_RUBY };
#define MW_PERMIT_MODE 7u
#define MW_PERMIT_EPOCH 8u /* times the epoch, of 29 bits: five a second for three years */
/* Never mw_permit: the first epoch is 1. */
#define MW_PERMIT_BUSY 0u
#define MW_PERMIT_QUIET 1u
#define MW_PERMIT_NOBODY 2u
#define MW_PERMIT_CLOCKED 3u /* a thread's, for some calls: tracker/track/clocked.h */
MW_INLINE uint32_t mw_mode(void)
{
	return __atomic_load_n(&mw_permit, __ATOMIC_ACQUIRE) & MW_PERMIT_MODE;
}
/* Any thread. Of two calls at once, either's mode may last. */
void mw_mode_set(enum mw_mode);

/* A thread's part of a recording: tracker/track/events.h. All zero: none. Own thread, but as said. */
struct mw_lane {
	uint64_t *next; /* where the next event goes; its low bits say if there is room. Release */
	uint32_t stream;
	uint32_t parts; /* buffers begun */
	uint32_t lost; /* events dropped since the last buffer */
	uint32_t thread; /* the kernel's id of the thread that the stream is of now */
	uint32_t taken; /* buffers written to the file. The writer's alone */
	uint32_t unused;
};

struct mw_shard {
	uint32_t permit;       /* first: mw_no_states. Own thread; retire.c reads it */
	uint32_t room;       /* records that the batch in use has room for, at least */
	struct mw_record *spare; /* first record of the batch in use, or NULL */
	int32_t step;        /* bytes to the end of a step (tracker/track/sample.h), less 1 or so */
	uint32_t step_size; /* value of `step` when it was set; without Ruby: bytes that the clock's lacks */
	uint64_t unsampled; /* bytes that the thread may allocate before it looks up: tracker/track/sampled.h */
	uint64_t unsampled_from; /* its value when it was set */
	int64_t to_sample; /* bytes to the next sample; 0: not drawn yet */
	int64_t to_check; /* bytes until the fast lookup is compared with Ruby's */
	uint32_t check_every; /* value of to_check when it was set; 0: never yet */
	uint64_t rate; /* that to_sample was drawn for */
	uint32_t look_every; /* bytes between two looks for a location without a stack; 0: none yet */
	uint32_t looks; /* these so far */
	uint64_t step_at; /* ns: when the step before ended; 0: there was none */
	uint64_t dice; /* state of the thread's generator of chance; 0: not seeded */
	uint32_t full; /* first record of the first full batch; 0: none */
	uint32_t n_full;
	uint32_t fresh; /* next of a row of records never used */
	uint32_t fresh_end; /* one past the end of that row */
	/* -(slots in use) * MW_ENTRY: they end where the shard begins. Relaxed, written by its own thread */
	int64_t slots_from;
	uint32_t caller_mask; /* (places in use - 1) * MW_ENTRY: masks a place's distance from the first. The same */
	uint32_t slot_evictions, caller_evictions; /* since there are so many */
	uint32_t fresh_taken; /* records never used that the thread took */
	int64_t clock_due; /* bytes yet to be added to the clock, less a step: generation.h */
	uint32_t moving; /* counts are on their way to `flushed` */
	uint32_t known; /* the mw_permit that the thread saw last; release: after the maxima */
	uint32_t quiet; /* depth */
	bool hushed; /* quiet in addition to that depth. Own thread */
	uint16_t label; /* labels.h; 0: none. Own thread */
	uint8_t clocked; /* calls of a row that are left: tracker/track/clocked.h */
	uint8_t clocked_steps, clocked_frees; /* since the last row */
	struct mw_shard_entry *entry; /* its own in shards.c */
	struct mw_lane lane;
	uint32_t first_epochs[MW_FEW_CALLERS]; /* epoch of each entry's page of code */
	struct mw_caller callers[MW_CALLERS];
	uint32_t more_epochs[MW_CALLERS - MW_FEW_CALLERS];
};

_Static_assert(MW_FEW_SLOTS *MW_ENTRY + offsetof(struct mw_shard, callers[MW_FEW_CALLERS]) <= 4096,
	       "a thread that allocates at few lines touches one page");

/* The slots in use: none of a shard whose memory is given back. A reader keeps the gate closed. */
static inline struct mw_slot *mw_slots_begin(const struct mw_shard *t)
{
	return (struct mw_slot *)((uintptr_t)t + (uintptr_t)mw_get(&t->slots_from));
}
static inline struct mw_slot *mw_slots_end(const struct mw_shard *t)
{
	return (struct mw_slot *)(uintptr_t)t;
}
/* The callers in use, the first one at least. */
static inline struct mw_caller *mw_callers_end(struct mw_shard *t)
{
	return &t->callers[mw_get(&t->caller_mask) / MW_ENTRY + 1];
}
/* The epoch of w's page of code. */
static inline uint32_t *mw_caller_epoch(struct mw_shard *t, const struct mw_caller *w)
{
	size_t i = (size_t)(w - t->callers);

	return i < MW_FEW_CALLERS ? &t->first_epochs[i] : &t->more_epochs[i - MW_FEW_CALLERS];
}

/*
 * The next shard from number *i on, which goes up; NULL: no more. Without those whose memory is given
 * back: these hold no counts. It may be given back while it is looked at: then it is all zeros.
 */
struct mw_shard *mw_shard_next(uint32_t *i);
#define MW_EACH_SHARD(t) for (uint32_t mw_i = 0; ((t) = mw_shard_next(&mw_i)) != NULL;)

/*
 * The calling thread's shard; MW_NONE: none yet; MW_LATE: none any more. Those two have only a
 * `permit`, which all threads without a shard share: it says quiet or busy.
 */
extern MW_HIDDEN __thread struct mw_shard *mw_self __attribute__((tls_model("initial-exec")));
extern MW_HIDDEN uint32_t mw_no_states[32];
#define MW_NONE ((struct mw_shard *)(void *)&mw_no_states[0])
#define MW_LATE ((struct mw_shard *)(void *)&mw_no_states[16])
/* Has a thread with that no shard? Then other threads write its permit, too. */
MW_INLINE bool mw_is_late(const struct mw_shard *t)
{
	return t == MW_NONE || t == MW_LATE;
}
/* The calling thread's shard, or NULL. */
MW_INLINE struct mw_shard *mw_state(void)
{
	struct mw_shard *t = mw_self;

	return t == MW_NONE || t == MW_LATE ? NULL : t;
}

/* The thread pointers of at most `max` threads that have a shard now, into v; returns how many. */
size_t mw_shard_threads(uintptr_t *v, size_t max);

extern bool mw_shards_full; /* relaxed: some thread found no memory for its shard */

/* A shard for a thread without one; NULL: no memory. */
struct mw_shard *mw_shard_adopt(void);
/*
 * The calling thread ends: its shard t, which is busy, is left to others, and mw_self is MW_LATE. If there
 * are enough with their memory, t's is given back.
 */
void mw_shard_end(struct mw_shard *t);
/* Lets another thread adopt the shard with its memory. The caller doesn't use it after that. */
void mw_shard_release(struct mw_shard *);
/*
 * Gives back memory of ended threads that couldn't do it themselves: the gate was closed, or calls were
 * recorded. Not on the way of an allocation.
 */
void mw_shards_trim(void);
/* In a forked child: releases every shard but self. */
void mw_shards_after_fork(struct mw_shard *self);

/* The epoch that the maxima in t's slots belong to. */
static inline uint32_t mw_shard_epoch(const struct mw_shard *t)
{
	return __atomic_load_n(&t->known, __ATOMIC_ACQUIRE) / MW_PERMIT_EPOCH;
}
/* Takes up the present mw_permit, and ends t's epoch if that changed. t is busy. Own thread. */
void mw_shard_renew(struct mw_shard *t);
/*
 * The guard: a thread that has one is inside the tracker, busy. Leaving ends it.
 *
 *	MW_GUARD(t);     t is inside until the end of the block, however that ends
 *
 * The fast way can't be one block. It hands over to a cold function by a tail call, so it needs
 * no stack frame. A function with a struct mw_guard as its argument takes the guard over, and
 * leaves. A function that takes a busy thread's struct mw_shard doesn't leave.
 */
struct mw_guard {
	struct mw_shard *t;
};
__attribute__((warn_unused_result)) MW_INLINE struct mw_guard mw_enter(struct mw_shard *t)
{
	mw_set(&t->permit, MW_PERMIT_BUSY);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return (struct mw_guard){ t };
}
/* known: t->known, or its equal that the fast way has at hand. */
MW_INLINE void mw_leave_as(struct mw_guard in, uint32_t known)
{
	mw_assert(mw_is_late(in.t) || in.t->permit == MW_PERMIT_BUSY);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&in.t->permit, known, __ATOMIC_RELEASE); /* work inside is done: retire.c */
}
static inline void mw_leave(struct mw_guard in)
{
	mw_assert(in.t->known >= MW_PERMIT_EPOCH);
	mw_leave_as(in, in.t->known);
}
static inline void mw_guard_end(const struct mw_guard *in)
{
	mw_leave(*in);
}
#define MW_GUARD(t) \
	const struct mw_guard mw_in __attribute__((cleanup(mw_guard_end), unused)) = mw_enter(t)
/*
 * The fast way in: lays down the permit that t carries. t may go on if *known, that permit, is
 * the present one (mw_permit_is). t must take it up again in any case.
 */
MW_INLINE struct mw_guard mw_enter_carrying(struct mw_shard *t, uint32_t *known)
{
	*known = mw_get(&t->permit);
	return mw_enter(t);
}
MW_INLINE bool mw_permit_is(uint32_t known, const uint32_t *permit)
{
	return mw_says(permit, known);
}
/* Makes t quiet until as many mw_shard_quiet_leave calls. t may be busy. */
static inline void mw_shard_quiet_enter(struct mw_shard *t)
{
	mw_set(&t->quiet, t->quiet + 1);
	if (t->permit != MW_PERMIT_BUSY)
		mw_set(&t->permit, MW_PERMIT_QUIET);
}
static inline bool mw_shard_is_quiet(const struct mw_shard *t)
{
	return t->quiet || t->hushed;
}
static inline void mw_shard_quiet_leave(struct mw_shard *t)
{
	mw_assert(t->quiet);
	mw_set(&t->quiet, t->quiet - 1);
	if (!mw_shard_is_quiet(t) && t->permit != MW_PERMIT_BUSY)
		mw_set(&t->permit, t->known);
}
/* The same as a switch, in addition to that depth. */
static inline void mw_shard_switch(struct mw_shard *t, bool hushed)
{
	t->hushed = hushed;
	if (t->permit != MW_PERMIT_BUSY)
		mw_set(&t->permit, mw_shard_is_quiet(t) ? MW_PERMIT_QUIET : t->known);
}

/*
 * The gate is closed until each thread that closed it has opened it; a thread closes it once.
 * mw_gate_close_until waits for moves under way, until a moment of mw_now_ns if it isn't 0: then
 * the gate is closed, but a move may be half done. mw_gate_try doesn't wait. False: a move
 * is under way, and the gate isn't closed.
 */
void mw_gate_close_until(uint64_t until);
bool mw_gate_try(void);
void mw_gate_open(void);
static inline void mw_gate_close(void)
{
	mw_gate_close_until(0);
}
void mw_gate_after_fork(void); /* in the child */
extern uint32_t mw_gate; /* threads that keep it closed; seq_cst, see move_begin */

/* Moves all of u's counts to `flushed`; t is the calling thread's. False: the gate is closed. */
bool mw_shard_flush(struct mw_shard *t, struct mw_shard *u);
/* Gives u's free records to all threads; forgets them. u is nobody else's. */
void mw_shard_give_records(struct mw_shard *u);
void mw_shard_forget_records(struct mw_shard *u);
/* The slot for id, or NULL while the gate is closed. */
struct mw_slot *mw_slot_claim(struct mw_shard *, uint32_t id);
/* Makes the entry count for id from here on; false: the gate is closed. */
bool mw_caller_claim(struct mw_shard *, struct mw_caller *, uint32_t id);

/* Atomic twins, for threads without a slot. */
/* count: blocks, each of the same size. Less than 0, with as many bytes: they were never allocated. */
void mw_shared_alloc(uint32_t id, uint64_t bytes, int64_t count);
void mw_shared_free(uint32_t id, uint64_t bytes, uint32_t count, uint32_t life);

/* --- hot: each of these touches one line of cache ---------------- */

/*
 * The address of an entry, `bytes` into one of t's arrays. It takes one instruction, and the
 * compiler doesn't compute it again for each word of the entry.
 */
MW_INLINE uintptr_t mw_shard_on(struct mw_shard *t, uintptr_t array, uintptr_t bytes)
{
	uintptr_t at = (uintptr_t)t + bytes + array;

	__asm__("" : "+r"(at));
	return at;
}

MW_INLINE struct mw_slot *mw_slot(struct mw_shard *t, uint32_t id)
{
	_Static_assert(sizeof(struct mw_slot) == MW_ENTRY, "MW_ENTRY");
	/* a whole number of places, a power of two: so the OR picks one */
	mw_assert(t->slots_from < 0 && (t->slots_from & (t->slots_from + MW_ENTRY)) == t->slots_from);
	return (struct mw_slot *)mw_shard_on(t, 0, (uintptr_t)id * MW_ENTRY | (uintptr_t)t->slots_from);
}

/*
 * After an eviction: there are twice as many places, if evictions are frequent, and there is memory.
 * Counts stay in the old places. Readers sum up all places, so they find these counts. A location may
 * then have two slots in one shard. Returns true if there are more.
 */
bool mw_slots_widen(struct mw_shard *t);
bool mw_callers_widen(struct mw_shard *t);

/* Counts an allocation by a cached caller. */
MW_INLINE void mw_caller_alloc(struct mw_caller *w, uint64_t bytes)
{
	mw_assert(w->id && w->id != MW_CS_MASK); /* a location's, not of a frame to be skipped */
	mw_bump(&w->bytes, bytes);
	mw_bump(&w->allocs, 1);
}

/*
 * Counts a free, without its lifespan. Release, as for all counts of frees: a reader takes frees
 * first (snapshot.h). It then sees the allocation, which came before, in this thread or in one
 * that handed the block over.
 */
MW_INLINE void mw_slot_add_free(struct mw_slot *s, uint64_t bytes)
{
	mw_bump_release(&s->freed, bytes);
	mw_bump_release(&s->frees, 1);
}

/* Counts a free of any location's block, with its lifespan. t is busy. */
void mw_count_free(struct mw_shard *t, uint32_t id, uint64_t bytes, uint32_t life);

/*
 * Takes t->spare, which is r and not NULL, out of the batch in use; returns its ref. Prefetches
 * the next one: it was usually freed long ago, and a cache miss on it would cost most.
 */
MW_INLINE uint32_t mw_spare_pop(struct mw_shard *t, const struct mw_record *r)
{
	struct mw_record *next = r->next;

	mw_assert(r == t->spare && r->low == MW_FREE); /* no block's */
	mw_assert(mw_record_at(mw_ref_index(r->ref)) == r); /* it holds its own ref */
	t->spare = next;
	__builtin_prefetch(next, 1);
	t->room++;
	mw_assert(t->room <= MW_BATCH);
	return r->ref;
}

/* Puts r into the batch in use; the caller has lowered t->room for it. r is free from here on. */
MW_INLINE void mw_spare_push(struct mw_shard *t, struct mw_record *r, uint32_t ref)
{
	mw_assert(ref && mw_record_at(mw_ref_index(ref)) == r);
	mw_free_link(r, ref, t->spare);
	t->spare = r;
}

/* A free record and its ref, also of a full batch or the shared stack; NULL: no memory. */
struct mw_record *mw_spare_take(struct mw_shard *t, uint32_t *ref);
/* Gives r back, even if the batch in use is full. r is free from here on. */
void mw_spare_give(struct mw_shard *t, struct mw_record *r, uint32_t ref);
