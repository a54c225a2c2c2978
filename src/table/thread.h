/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread.h - what each thread keeps for itself.
 *
 * A thread alone writes its state, with plain stores. Readers sum the
 * counters of all states; states are never freed, a dead thread's is adopted
 * by a new one with its counts in it.
 *
 * slots[]: a direct-mapped cache of counters, by location. On a conflict the
 * owner moves the old counts to the location's `flushed` (claim). A reader
 * must not see them in both places, or in none: it closes the gate, waits
 * for moves under way, and while the gate is closed a conflicting thread
 * adds straight to `flushed`, which is one place.
 *
 * busy: set while the thread is inside the tracker. A signal handler that
 * allocates then finds it set and takes the shared, atomic path (track/slow.c);
 * and retire.c waits for it (see callsite.h).
 */
#ifndef MW_TABLE_THREAD_H
#define MW_TABLE_THREAD_H

#include "callsite.h"
#include "record.h"

enum {
	MW_SLOTS = 1024,   /* locations with counters at hand */
	MW_WHERES = 1024,  /* callers with ids at hand */
	MW_LIFE_BEHIND = 1 << 20, /* generations; more than 4,000 threads' clocks differ by */
	MW_FULL = 64       /* full batches of free records kept: 16,384 of them */
};

struct mw_slot {
	struct mw_counters c;
	uint32_t life_max; /* of `epoch` */
	uint32_t epoch;
	uint32_t id;
	uint32_t pad[3];
} __attribute__((aligned(64)));

/* caller -> location: see where_cache.h */
struct mw_where {
	uintptr_t pc;
	uint32_t id;
	uint32_t changes;
};

/* bits of mw_thread.hush: any of them, and calls leave the usual path */
#define MW_BUSY 1u
#define MW_QUIET 2u /* and upwards: depth of quiet * MW_QUIET */

enum mw_thread_status { MW_THREAD_FREE, MW_THREAD_LIVE };

struct mw_thread {
	uint32_t hush;       /* own thread; retire.c reads it */
	uint32_t spare;      /* first free record of the batch in use; 0: none … */
	uint32_t n_spare;    /* how many it has, MW_BATCH at most */
	uint32_t full;       /* first record of the first full batch; 0: none */
	uint32_t n_full;
	uint32_t fresh;      /* next of a row of records never used, … */
	uint32_t fresh_end;  /* … and its end */
	struct mw_record *spare_at; /* … and where that is, unless it is 0 */
	uint64_t clock_due;  /* bytes not yet added to mw_clock */
	uint32_t moving;     /* counts are on their way to `flushed` */
	uint32_t status;     /* enum mw_thread_status; compare-and-swap to adopt */
	struct mw_thread *next; /* all states; written before publishing */
	struct mw_where wheres[MW_WHERES];
	uint32_t where_epochs[MW_WHERES]; /* of each one's page of code */
	struct mw_slot slots[MW_SLOTS];
};

/* All states ever made, newest first: acquire. */
extern struct mw_thread *mw_threads;

/* The calling thread's; NULL: none yet, MW_LATE: none any more. */
extern MW_HIDDEN __thread struct mw_thread *mw_self __attribute__((tls_model("initial-exec")));
#define MW_LATE ((struct mw_thread *)1)

extern bool mw_threads_full; /* relaxed: some thread found no memory for its state */

/* A state for a thread that has none; NULL: no memory. */
struct mw_thread *mw_thread_adopt(void);
/* Hands it on. The caller doesn't use it after that. */
void mw_thread_release(struct mw_thread *);
/* In a forked child: every state but self's belongs to nobody now. */
void mw_threads_after_fork(struct mw_thread *self);

/* The gate, for readers only (read.c). */
void mw_gate_close(void);
void mw_gate_open(void);
extern uint32_t mw_gate;

/* The slot for id, or NULL while the gate is closed. */
struct mw_slot *mw_slot_claim(struct mw_thread *, uint32_t id);
void mw_slot_new_max(struct mw_slot *, uint32_t life);

/* Atomic twins, for threads without a slot. */
void mw_shared_alloc(uint32_t id, uint64_t bytes);
void mw_shared_free(uint32_t id, uint64_t bytes, uint32_t life);

/* --- hot: a slot is 64 bytes, so each of these touches one line ---------------- */

MW_INLINE struct mw_slot *mw_slot(struct mw_thread *t, uint32_t id)
{
	struct mw_slot *s = &t->slots[id % MW_SLOTS];

	__asm__("" : "+r"(s)); /* or the compiler finds out where it is for each counter anew */
	return s;
}

/* Counts an allocation; returns how many there were in this slot. */
MW_INLINE uint64_t mw_slot_alloc(struct mw_slot *s, uint64_t bytes)
{
	uint64_t calls = mw_get(&s->c.allocs) + 1;

	mw_bump(&s->c.bytes, bytes);
	mw_bump(&s->c.allocs, 1);
	return calls;
}

/* Counts a free. */
MW_INLINE void mw_slot_add_free(struct mw_slot *s, uint64_t bytes, uint32_t life)
{
	if (life)
		mw_bump(&s->c.life_sum, life);
	mw_bump(&s->c.freed, bytes);
	mw_bump(&s->c.frees, 1);
}

/* The same unless it makes a new maximum: then false, and nothing is done. */
MW_INLINE bool mw_slot_free(struct mw_slot *s, uint64_t bytes, uint32_t life)
{
	if (life && mw_unlikely(life > s->life_max || s->epoch != mw_get(&mw_epoch)))
		return false;
	mw_slot_add_free(s, bytes, life);
	return true;
}

/* The same for any location. */
void mw_count_alloc(struct mw_thread *t, uint32_t id, uint64_t bytes);
void mw_count_free(struct mw_thread *t, uint32_t id, uint64_t bytes, uint32_t life);

/*
 * A free record, and the record itself with it, taken from the batch in use.
 * False: that is empty; mw_spare_take() gets more.
 */
MW_INLINE bool mw_spare_at_hand(const struct mw_thread *t)
{
	return t->spare != 0;
}

/*
 * The next one is fetched meanwhile: it was freed long ago, mostly. Waiting
 * for it is what would cost, and its address is needed then anyway.
 */
MW_INLINE struct mw_record *mw_spare_pop(struct mw_thread *t, uint32_t *i)
{
	struct mw_record *r = t->spare_at;
	uint32_t next = (uint32_t)mw_get(&r->what);

	*i = t->spare;
	t->spare = next;
	t->spare_at = mw_record_at(next); /* of 0 too: what no one looks at */
	__builtin_prefetch(t->spare_at, 1);
	t->n_spare--;
	return r;
}

MW_INLINE void mw_spare_push(struct mw_thread *t, struct mw_record *r, uint32_t i)
{
	mw_free_link(r, t->spare, 0);
	t->spare = i;
	t->spare_at = r;
	t->n_spare++;
}

/* With all it may take; 0: no memory. */
uint32_t mw_spare_take(struct mw_thread *t);
/* r is free now, and i its index. */
void mw_spare_give(struct mw_thread *t, struct mw_record *r, uint32_t i);

#endif
