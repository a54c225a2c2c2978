/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread.h"

#include <errno.h>
#include <sched.h>

struct mw_thread *mw_threads;
__thread struct mw_thread *mw_self __attribute__((tls_model("initial-exec")));
uint32_t mw_gate;

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
	t = mw_own_map(sizeof(*t));
	if (!t)
		return NULL;
	t->status = MW_THREAD_LIVE;
	t->next = mw_get(&mw_threads);
	while (!__atomic_compare_exchange_n(&mw_threads, &t->next, t, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return t;
}

void mw_thread_release(struct mw_thread *t)
{
	t->hush = 0;
	__atomic_store_n(&t->status, MW_THREAD_FREE, __ATOMIC_RELEASE);
}

void mw_threads_after_fork(struct mw_thread *self)
{
	struct mw_thread *t;

	for (t = mw_threads; t; t = t->next) {
		if (t == self)
			continue;
		/* caught in the middle, its list may name records that are in the
		   pool as well: 128 records at most are given up */
		if (t->hush & MW_BUSY)
			t->n_spare = 0;
		mw_thread_release(t);
	}
}

/* Readers are serialised by the reading lock, so there is one at a time. */
void mw_gate_close(void)
{
	struct mw_thread *t;

	__atomic_store_n(&mw_gate, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with the one in mw_slot_claim */
	/* a move is some twenty instructions: only a preempted one is waited for */
	for (t = __atomic_load_n(&mw_threads, __ATOMIC_ACQUIRE); t; t = t->next)
		while (__atomic_load_n(&t->moving, __ATOMIC_ACQUIRE))
			sched_yield();
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

void mw_shared_alloc(uint32_t id, uint64_t bytes)
{
	struct mw_counters *c = &mw_callsite(id)->flushed;

	mw_add(&c->bytes, bytes);
	mw_add(&c->allocs, 1);
}

void mw_shared_free(uint32_t id, uint64_t bytes, uint32_t life)
{
	struct mw_counters *c = &mw_callsite(id)->flushed;

	mw_add(&c->freed, bytes);
	mw_add(&c->frees, 1);
	if (life) {
		mw_add(&c->life_sum, life);
		mw_life_max_raise(id, mw_get(&mw_epoch), life);
	}
}
