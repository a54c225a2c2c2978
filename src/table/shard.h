/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shard.h - what each thread keeps for itself.
 *
 * A thread alone writes its state, with plain stores. Readers sum the
 * counters of all states; states are never freed, a dead thread's is adopted
 * by a new one with its counts in it.
 *
 * slots[]: a direct-mapped cache of counters, by location; callers[]: one of
 * callers, each with two places (caller_cache.h), with counters too. On a conflict the owner moves the old counts to
 * the location's `flushed` (claim). A reader must not see them in both places,
 * or in none: it closes the gate, waits for moves under way, and while the
 * gate is closed a conflicting thread adds straight to `flushed`, which is one
 * place, and remembers no other caller.
 *
 * pass: one look tells the usual path all that it must know. A thread carries
 * the mw_permit that it saw last, and may go on while that is the present one. It
 * lays it down while it is inside the tracker (busy: a signal handler that
 * allocates then takes the shared, atomic path (track/slow.c), and others can
 * wait for it: mw_calls_left), and while it is quiet. When a reset begins an
 * epoch, or another way is to be gone, mw_permit changes; each thread then ends
 * its own old epoch before it goes on (mw_shard_catch_up): so the maxima in
 * its slots are always those of the epoch in `known`. It is laid down before
 * it is compared: who changes mw_permit and then waits for the busy has seen
 * the last call that went by the old one.
 */
#ifndef MW_TABLE_SHARD_H
#define MW_TABLE_SHARD_H

#include "callsite.h"
#include "record.h"
#include "base/wait.h"

enum {
	MW_SLOTS = 1024,   /* locations with counters at hand */
	MW_CALLERS = 1024,  /* callers with ids at hand */
	MW_LIFE_BEHIND = 1 << 20, /* generations; more than 4,000 threads' clocks differ by */
	MW_FULL = 64       /* full batches of free records kept: 16,384 of them */
};

/* What a thread freed of a location. */
struct mw_slot {
	uint64_t freed, frees, life_sum; /* as in mw_counters */
	uint32_t id;
	uint32_t life_max; /* release; in the thread's epoch: mw_shard_epoch */
} __attribute__((aligned(32)));

/*
 * A caller remembered: see caller_cache.h. What it allocates is counted right
 * here, in the line that was just looked at, until the entry becomes another
 * location's; its frees are counted in the location's slot.
 */
struct mw_caller {
	uintptr_t pc;
	uint32_t id;
	uint32_t changes;
	uint64_t bytes, allocs;
} __attribute__((aligned(32)));

/*
 * What may be taken for granted in this process (mw_mode, in the low two bits; track.h
 * says what it means), and the epoch: callsite.h. Acquire: what it says is set up.
 * mw_permit_ruby and mw_permit_bytes are the same where the low bits say that, else nobody's.
 */
extern MW_HOT uint32_t mw_permit, mw_permit_ruby, mw_permit_bytes;
enum mw_mode { MW_MODE_NONE, MW_MODE_BYTES, MW_MODE_RUBY };
#define MW_PERMIT_MODE 3u
#define MW_PERMIT_EPOCH 4u /* times the epoch, of 30 bits: five a second for six years */
/* Never mw_permit: the first epoch is 1. */
#define MW_PERMIT_BUSY 0u
#define MW_PERMIT_QUIET 1u
#define MW_PERMIT_NOBODY 2u
MW_INLINE uint32_t mw_mode(void)
{
	return __atomic_load_n(&mw_permit, __ATOMIC_ACQUIRE) & MW_PERMIT_MODE;
}
/* Any thread; of two at once, either's may last. */
void mw_mode_set(enum mw_mode);

enum mw_shard_status { MW_THREAD_FREE, MW_THREAD_LIVE };

struct mw_shard {
	uint32_t permit;       /* first: mw_no_states. Own thread; retire.c reads it */
	uint32_t room;       /* records that the batch in use has room for, at least */
	struct mw_record *spare; /* its first, or NULL */
	uint32_t check_in;   /* allocations until one is checked (track.h), at least 1, … */
	uint32_t check_every; /* … and when it was set, how many; 0: never yet */
	uint32_t full;       /* first record of the first full batch; 0: none */
	uint32_t n_full;
	uint32_t fresh;      /* next of a row of records never used, … */
	uint32_t fresh_end;  /* … and its end */
	int64_t clock_due;   /* bytes yet to be added to the clock, less a step: generation.h */
	uint32_t moving;     /* counts are on their way to `flushed` */
	uint32_t status;     /* enum mw_shard_status; compare-and-swap to adopt */
	uint32_t known;      /* the mw_permit that it may go on with; release: after the maxima */
	uint32_t quiet;      /* depth */
	bool hushed;         /* quiet beside that depth. Own thread */
	struct mw_shard *next; /* all states; written before publishing */
	struct mw_caller callers[MW_CALLERS];
	uint32_t caller_epochs[MW_CALLERS]; /* of each one's page of code */
	struct mw_slot slots[MW_SLOTS];
};

/* All states ever made, newest first: acquire. */
extern struct mw_shard *mw_threads;

/*
 * The calling thread's; MW_NONE: none yet, MW_LATE: none any more. Those two have
 * only a `pass`, which all such threads share: it says quiet or busy.
 */
extern MW_HIDDEN __thread struct mw_shard *mw_self __attribute__((tls_model("initial-exec")));
extern MW_HIDDEN uint32_t mw_no_states[32];
#define MW_NONE ((struct mw_shard *)(void *)&mw_no_states[0])
#define MW_LATE ((struct mw_shard *)(void *)&mw_no_states[16])
/* The calling thread's, or NULL. */
MW_INLINE struct mw_shard *mw_state(void)
{
	struct mw_shard *t = mw_self;

	return t == MW_NONE || t == MW_LATE ? NULL : t;
}

extern bool mw_shards_full; /* relaxed: some thread found no memory for its state */

/* A state for a thread that has none; NULL: no memory. */
struct mw_shard *mw_shard_adopt(void);
/* Hands it on. The caller doesn't use it after that. */
void mw_shard_release(struct mw_shard *);
/* In a forked child: every state but self's belongs to nobody now. */
void mw_shards_after_fork(struct mw_shard *self);

/* The epoch that the maxima in t's slots belong to. */
static inline uint32_t mw_shard_epoch(const struct mw_shard *t)
{
	return __atomic_load_n(&t->known, __ATOMIC_ACQUIRE) / MW_PERMIT_EPOCH;
}
/* t, which is busy, may go on with the present mw_permit, whatever changed. Own thread. */
void mw_shard_renew(struct mw_shard *t);
/* t is inside from here on, … */
MW_INLINE void mw_enter(struct mw_shard *t)
{
	mw_set(&t->permit, MW_PERMIT_BUSY);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
/* … and no longer. known: t->known, or what `pass` was, which the usual path has at hand. */
MW_INLINE void mw_leave_as(struct mw_shard *t, uint32_t known)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&t->permit, known, __ATOMIC_RELEASE); /* retire.c: all that was done inside is done */
}
/*
 * The usual way in: lays down the pass that t carries, and returns it. It may go on if
 * that is the present one (mw_permit_is), and must take it up again in any case.
 */
MW_INLINE uint32_t mw_enter_carrying(struct mw_shard *t)
{
	uint32_t permit = mw_get(&t->permit);

	mw_enter(t);
	return permit;
}
MW_INLINE bool mw_permit_is(uint32_t known, const uint32_t *permit)
{
	return mw_says(permit, known);
}
static inline void mw_leave(struct mw_shard *t)
{
	mw_leave_as(t, t->known);
}
/* What t allocates and frees isn't counted, until as many leaves. t may be busy. */
static inline void mw_shard_hush(struct mw_shard *t)
{
	mw_set(&t->quiet, t->quiet + 1);
	if (t->permit != MW_PERMIT_BUSY)
		mw_set(&t->permit, MW_PERMIT_QUIET);
}
static inline bool mw_shard_is_quiet(const struct mw_shard *t)
{
	return t->quiet || t->hushed;
}
static inline void mw_shard_unhush(struct mw_shard *t)
{
	mw_set(&t->quiet, t->quiet - 1);
	if (!mw_shard_is_quiet(t) && t->permit != MW_PERMIT_BUSY)
		mw_set(&t->permit, t->known);
}
/* The same as a switch, beside that. */
static inline void mw_shard_switch(struct mw_shard *t, bool hushed)
{
	t->hushed = hushed;
	if (t->permit != MW_PERMIT_BUSY)
		mw_set(&t->permit, mw_shard_is_quiet(t) ? MW_PERMIT_QUIET : t->known);
}

/*
 * The gate: closed while anybody who closed it hasn't opened it; not nested. Waits for moves
 * under way, until a time of CLOCK_MONOTONIC if one is given: it is closed then, but a move may
 * be half done. The other form doesn't wait: false, and nothing has changed.
 */
void mw_gate_close_until(const struct timespec *);
bool mw_gate_try(void);
void mw_gate_open(void);
static inline void mw_gate_close(void)
{
	mw_gate_close_until(NULL);
}
extern uint32_t mw_gate; /* how many keep it closed; seq_cst, see move_begin */

/* The slot for id, or NULL while the gate is closed. */
struct mw_slot *mw_slot_claim(struct mw_shard *, uint32_t id);
/* The entry counts for id from here on; false: the gate is closed. */
bool mw_caller_claim(struct mw_shard *, struct mw_caller *, uint32_t id);

/* Atomic twins, for threads without a slot. */
void mw_shared_alloc(uint32_t id, uint64_t bytes);
void mw_shared_free(uint32_t id, uint64_t bytes, uint32_t life);

/* --- hot: each of these touches one line of cache ---------------- */

/*
 * An entry of one of t's arrays, `bytes` into it. In one instruction, and the compiler
 * doesn't find out where the entry is for each of its words anew.
 */
MW_INLINE uintptr_t mw_shard_on(struct mw_shard *t, uintptr_t array, uintptr_t bytes)
{
	uintptr_t at = (uintptr_t)t + bytes + array;

	__asm__("" : "+r"(at));
	return at;
}

MW_INLINE struct mw_slot *mw_slot(struct mw_shard *t, uint32_t id)
{
	return (struct mw_slot *)mw_shard_on(t, offsetof(struct mw_shard, slots),
					     id % MW_SLOTS * sizeof(struct mw_slot));
}

/* Counts an allocation by a remembered caller. */
MW_INLINE void mw_caller_alloc(struct mw_caller *w, uint64_t bytes)
{
	mw_bump(&w->bytes, bytes);
	mw_bump(&w->allocs, 1);
}

/*
 * Counts a free, but for its life. Release, as all counting of frees: a reader takes frees first
 * (snapshot.h), and then sees the allocation, which came before in this thread or in one that
 * handed the block over.
 */
MW_INLINE void mw_slot_add_free(struct mw_slot *s, uint64_t bytes)
{
	mw_bump_release(&s->freed, bytes);
	mw_bump_release(&s->frees, 1);
}

/* Any location's: */
void mw_count_free(struct mw_shard *t, uint32_t id, uint64_t bytes, uint32_t life);

/*
 * Takes t->spare, which is r and not NULL, out of the batch in use; returns
 * its ref. The next one is fetched meanwhile: it was freed long ago, mostly,
 * and waiting for it is what would cost.
 */
MW_INLINE uint32_t mw_spare_pop(struct mw_shard *t, const struct mw_record *r)
{
	struct mw_record *next = r->next;

	t->spare = next;
	__builtin_prefetch(next, 1);
	t->room++;
	return r->ref;
}

/* There is room: t->room was lowered for it. r is free from here on. */
MW_INLINE void mw_spare_push(struct mw_shard *t, struct mw_record *r, uint32_t ref)
{
	mw_free_link(r, ref, t->spare);
	t->spare = r;
}

/* A free record, with all it may take, and its ref; NULL: no memory. */
struct mw_record *mw_spare_take(struct mw_shard *t, uint32_t *ref);
/* r is free from here on. */
void mw_spare_give(struct mw_shard *t, struct mw_record *r, uint32_t ref);

#endif
