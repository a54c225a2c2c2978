/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct mw_thread *mw_threads;
__thread struct mw_thread *mw_self __attribute__((tls_model("initial-exec")));
uint32_t mw_gate;
bool mw_threads_full;

struct mw_thread *mw_thread_adopt(void)
{
	struct mw_thread *t = __atomic_load_n(&mw_threads, __ATOMIC_ACQUIRE);

	for (; t; t = t->next) {
		uint32_t is = MW_THREAD_FREE;

		if (mw_get(&t->status) == MW_THREAD_FREE &&
		    __atomic_compare_exchange_n(&t->status, &is, MW_THREAD_LIVE, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return t;
	}
	t = mw_own_grow(sizeof(*t), MW_OWN_THREAD);
	if (!t) {
		mw_set(&mw_threads_full, true);
		return NULL;
	}
	t->status = MW_THREAD_LIVE;
	t->next = mw_get(&mw_threads);
	while (!__atomic_compare_exchange_n(&mw_threads, &t->next, t, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return t;
}

void mw_thread_release(struct mw_thread *t)
{
	mw_set(&t->hush, 0);
	__atomic_store_n(&t->status, MW_THREAD_FREE, __ATOMIC_RELEASE);
}

void mw_threads_after_fork(struct mw_thread *self)
{
	struct mw_thread *t;

	for (t = mw_threads; t; t = t->next) {
		if (t == self)
			continue;
		/* caught in the middle, its lists may be half changed: they are
		   given up, 16,640 records at the very most */
		if (t->hush & MW_BUSY)
			t->spare = t->n_spare = t->full = t->n_full = t->fresh = t->fresh_end = 0;
		/* it may have been about to find the gate closed: nobody waits for that now */
		t->moving = 0;
		mw_thread_release(t);
	}
}

/* A batch is the one in use now. */
static void use_batch(struct mw_thread *t, uint32_t first)
{
	t->spare = first;
	t->spare_at = mw_record_at(first);
	t->n_spare = MW_BATCH; /* or less: only a bound on what is given */
}

/* Some of the row that was never used; the rest of its memory isn't touched yet. */
static void link_fresh(struct mw_thread *t)
{
	uint32_t end = t->fresh + 16 < t->fresh_end ? t->fresh + 16 : t->fresh_end, i;

	for (i = end; i-- > t->fresh;)
		mw_spare_push(t, mw_record_at(i), i);
	t->fresh = end;
}

uint32_t mw_spare_take(struct mw_thread *t)
{
	bool fresh;
	uint32_t i;

	if (!t->spare && t->fresh < t->fresh_end)
		link_fresh(t);
	if (!t->spare && t->full) {
		use_batch(t, t->full);
		t->full = (uint32_t)(mw_get(&t->spare_at->what) >> 32);
		t->n_full--;
	}
	if (!t->spare) {
		i = mw_batch_take(&fresh);
		if (!i)
			return 0;
		if (fresh) {
			t->fresh = i;
			t->fresh_end = i + MW_BATCH;
			link_fresh(t);
		} else {
			use_batch(t, i);
		}
	}
	(void)mw_spare_pop(t, &i);
	return i;
}

void mw_spare_give(struct mw_thread *t, struct mw_record *r, uint32_t i)
{
	if (t->n_spare >= MW_BATCH) {
		if (t->n_full < MW_FULL) {
			mw_free_link(t->spare_at, mw_free_next(t->spare), t->full);
			t->full = t->spare;
			t->n_full++;
		} else {
			mw_batch_give(t->spare);
		}
		t->spare = t->n_spare = 0;
	}
	mw_spare_push(t, r, i);
}

/* Lets another thread run; yielding alone never lets one of lower priority. */
static void let_run(unsigned *turns)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (++*turns < 100)
		sched_yield();
	else /* not nanosleep: that is a cancellation point */
		(void)syscall(SYS_nanosleep, &ms, NULL);
}

/* Readers are serialised by the reading lock, so there is one at a time. */
void mw_gate_close(void)
{
	struct mw_thread *t;
	unsigned turns = 0;

	__atomic_store_n(&mw_gate, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with the one in mw_slot_claim */
	/*
	 * A move is some twenty instructions: only a preempted one is waited for.
	 * Our own goes on when we return: a handler that forks or exits in the
	 * middle of one can't wait for it.
	 */
	for (t = __atomic_load_n(&mw_threads, __ATOMIC_ACQUIRE); t; t = t->next)
		while (t != mw_self && __atomic_load_n(&t->moving, __ATOMIC_ACQUIRE))
			let_run(&turns);
}

void mw_gate_open(void)
{
	__atomic_store_n(&mw_gate, 0, __ATOMIC_RELEASE);
}

static void move(struct mw_slot *s)
{
	struct mw_counters *to = &mw_callsite(s->id)->flushed;

	mw_add(&to->bytes, s->c.bytes);
	mw_add(&to->allocs, s->c.allocs);
	mw_add(&to->freed, s->c.freed);
	mw_add(&to->frees, s->c.frees);
	mw_add(&to->life_sum, s->c.life_sum);
	if (s->life_max)
		mw_life_max_raise(s->id, s->epoch, s->life_max);
	mw_set(&s->c.bytes, 0);
	mw_set(&s->c.allocs, 0);
	mw_set(&s->c.freed, 0);
	mw_set(&s->c.frees, 0);
	mw_set(&s->c.life_sum, 0);
	mw_set(&s->life_max, 0);
}

struct mw_slot *mw_slot_claim(struct mw_thread *t, uint32_t id)
{
	struct mw_slot *s = &t->slots[id % MW_SLOTS];

	mw_set(&t->moving, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* either we see the gate, or it sees us */
	if (mw_get(&mw_gate)) {
		__atomic_store_n(&t->moving, 0, __ATOMIC_RELEASE);
		return NULL;
	}
	if (s->id)
		move(s);
	mw_set(&s->id, id);
	mw_set(&s->epoch, mw_get(&mw_epoch));
	__atomic_store_n(&t->moving, 0, __ATOMIC_RELEASE);
	return s;
}

void mw_slot_new_max(struct mw_slot *s, uint32_t life)
{
	uint32_t now = mw_get(&mw_epoch);

	if (s->epoch != now) {
		/* the old epoch's maximum may still be wanted: see retire.c */
		if (s->life_max)
			mw_life_max_raise(s->id, s->epoch, s->life_max);
		mw_set(&s->life_max, 0);
		/* after the zero: readers take the epoch first */
		__atomic_store_n(&s->epoch, now, __ATOMIC_RELEASE);
	}
	if (life > s->life_max)
		mw_set(&s->life_max, life);
}

void mw_count_alloc(struct mw_thread *t, uint32_t id, uint64_t bytes)
{
	struct mw_slot *s = &t->slots[id % MW_SLOTS];

	if (s->id != id)
		s = mw_slot_claim(t, id);
	if (s)
		(void)mw_slot_alloc(s, bytes);
	else
		mw_shared_alloc(id, bytes);
}

/*
 * A thread that frees may have a clock that is behind that of the thread which
 * allocated, by a step at most (generation.h): less than no time is none, not
 * nearly 2^32. A life as long as that is always a new maximum, so the fast
 * path never counts one.
 */
static uint32_t life_of(uint32_t life)
{
	return life > UINT32_MAX - MW_LIFE_BEHIND ? 0 : life;
}

void mw_count_free(struct mw_thread *t, uint32_t id, uint64_t bytes, uint32_t life)
{
	struct mw_slot *s = &t->slots[id % MW_SLOTS];

	life = life_of(life);
	if (s->id != id)
		s = mw_slot_claim(t, id);
	if (s) {
		if (life > s->life_max || s->epoch != mw_get(&mw_epoch))
			mw_slot_new_max(s, life);
		mw_slot_add_free(s, bytes, life);
	} else {
		mw_shared_free(id, bytes, life);
	}
}

void mw_shared_alloc(uint32_t id, uint64_t bytes)
{
	struct mw_counters *c = &mw_callsite(id)->flushed;

	mw_add(&c->bytes, bytes);
	mw_add(&c->allocs, 1);
}

void mw_shared_free(uint32_t id, uint64_t bytes, uint32_t life)
{
	struct mw_counters *c = &mw_callsite(id)->flushed;

	life = life_of(life);
	mw_add(&c->freed, bytes);
	mw_add(&c->frees, 1);
	if (life) {
		mw_add(&c->life_sum, life);
		mw_life_max_raise(id, mw_get(&mw_epoch), life);
	}
}
