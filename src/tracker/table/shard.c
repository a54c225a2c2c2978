/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shard.c - permits, batches of records, the gate, moves of counts; see shard.h. */
#include "shard.h"

#include "shared/sys/ranks.h"
#include "snapshot.h"

uint32_t mw_no_states[32] __attribute__((aligned(64))) = { [0] = MW_PERMIT_QUIET, [16] = MW_PERMIT_QUIET };
uint32_t mw_permit = MW_PERMIT_EPOCH;
uint32_t mw_permit_bytes = MW_PERMIT_NOBODY;
uint32_t mw_permit_class_ruby = MW_PERMIT_NOBODY;
uint32_t mw_permit_class_bytes = MW_PERMIT_NOBODY;
uint32_t mw_permit_calls = MW_PERMIT_EPOCH;
/* the first of MW_HOT */
struct mw_permit_ruby mw_permit_ruby __attribute__((aligned(64))) = { MW_PERMIT_NOBODY, MW_PERMIT_NOBODY };
__thread struct mw_shard *mw_self __attribute__((tls_model("initial-exec"))) = MW_NONE;
uint32_t mw_gate;

/* --- the permit ----------------------------------------------------------------------- */

uint32_t mw_epoch(void)
{
	return mw_get(&mw_permit) / MW_PERMIT_EPOCH;
}

static void derive(uint32_t *word, uint32_t permit, enum mw_mode mode)
{
	__atomic_store_n(word, (permit & MW_PERMIT_MODE) == mode ? permit : MW_PERMIT_NOBODY,
			 __ATOMIC_SEQ_CST);
}

static bool with_callers, recorded; /* seq_cst */

/* Threads may change these three at once: the last to write has seen all changes. */
static void derive_all(void)
{
	uint32_t permit, calls;
	bool with, record;

	do {
		permit = __atomic_load_n(&mw_permit, __ATOMIC_SEQ_CST);
		with = __atomic_load_n(&with_callers, __ATOMIC_SEQ_CST);
		record = __atomic_load_n(&recorded, __ATOMIC_SEQ_CST);
		calls = record ? MW_PERMIT_NOBODY : permit;
		derive(&mw_permit_ruby.ruby, calls, MW_MODE_RUBY);
		derive(&mw_permit_bytes, calls, MW_MODE_BYTES);
		derive(&mw_permit_class_ruby, calls, MW_MODE_CLASS_RUBY);
		derive(&mw_permit_class_bytes, calls, MW_MODE_CLASS_BYTES);
		derive(&mw_permit_ruby.line, with ? MW_PERMIT_NOBODY : calls, MW_MODE_RUBY);
		__atomic_store_n(&mw_permit_calls, calls, __ATOMIC_SEQ_CST);
	} while (permit != __atomic_load_n(&mw_permit, __ATOMIC_SEQ_CST) ||
		 with != __atomic_load_n(&with_callers, __ATOMIC_SEQ_CST) ||
		 record != __atomic_load_n(&recorded, __ATOMIC_SEQ_CST));
}

void mw_permit_record(bool on)
{
	__atomic_store_n(&recorded, on, __ATOMIC_SEQ_CST);
	derive_all();
}

void mw_permit_callers(bool with)
{
	__atomic_store_n(&with_callers, with, __ATOMIC_SEQ_CST);
	derive_all();
}

void mw_epoch_next(void)
{
	mw_assert(mw_reading_mine());
	__atomic_fetch_add(&mw_permit, MW_PERMIT_EPOCH, __ATOMIC_SEQ_CST);
	derive_all();
}

void mw_mode_set(enum mw_mode mode)
{
	uint32_t is = mw_get(&mw_permit);

	while (!__atomic_compare_exchange_n(&mw_permit, &is, (is & ~MW_PERMIT_MODE) | mode, true,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	derive_all();
}

/* Raises the location's maximum to the slot's. Readers may see it in both places. */
static void raise_max(const struct mw_shard *t, const struct mw_slot *s)
{
	if (s->life_max)
		mw_life_max_raise(s->id, mw_shard_epoch(t), s->life_max);
}

void mw_shard_renew(struct mw_shard *t)
{
	uint32_t now = __atomic_load_n(&mw_permit, __ATOMIC_ACQUIRE);

	mw_assert(t->permit == MW_PERMIT_BUSY);
	if (mw_likely(now == t->known))
		return;
	if (now / MW_PERMIT_EPOCH != mw_shard_epoch(t)) {
		for (struct mw_slot *s = mw_slots_begin(t); s < mw_slots_end(t); s++) {
			if (!s->life_max)
				continue;
			raise_max(t, s); /* the old epoch's maximum may still count: see retire.c */
			mw_set(&s->life_max, 0);
		}
	}
	__atomic_store_n(&t->known, now, __ATOMIC_RELEASE); /* after the maxima are cleared */
}

/* --- free records --------------------------------------------------------------------- */

void mw_shard_forget_records(struct mw_shard *t)
{
	t->spare = NULL;
	t->room = 0;
	t->full = t->n_full = t->fresh = t->fresh_end = 0;
}

/* Makes a batch the one in use. */
static void use_batch(struct mw_shard *t, uint32_t first)
{
	t->spare = mw_record_at(first);
	mw_assert(t->spare->low == MW_FREE);
	mw_set(&t->spare->ref, mw_ref(first)); /* it held the next batch's ref until here */
	t->room = 0; /* at least */
}

/* Links up to 16 of the row never used; the rest of its memory isn't touched yet. */
static void link_fresh(struct mw_shard *t)
{
	uint32_t end = t->fresh + 16 < t->fresh_end ? t->fresh + 16 : t->fresh_end, i;

	for (i = end; i-- > t->fresh;) {
		mw_assert(!mw_record_at(i)->where && !mw_record_at(i)->next); /* never used */
		mw_spare_push(t, mw_record_at(i), mw_ref(i));
	}
	t->room = MW_BATCH - (end - t->fresh);
	t->fresh = end;
}

enum { FEW_RECORDS = 4 * MW_BATCH_FEW }; /* never used, of a thread that is given parts of batches */

struct mw_record *mw_spare_take(struct mw_shard *t, uint32_t *ref)
{
	struct mw_record *r;
	uint32_t i, fresh;

	if (!t->spare && t->fresh < t->fresh_end)
		link_fresh(t);
	if (!t->spare && t->full) {
		i = t->full;
		t->full = mw_ref_index(mw_get(&mw_record_at(i)->ref));
		t->n_full--;
		use_batch(t, i);
	}
	if (!t->spare) {
		i = mw_batch_take(t->fresh_taken < FEW_RECORDS, &fresh);
		if (!i)
			return NULL;
		if (fresh) {
			t->fresh_taken += fresh;
			t->fresh = i;
			t->fresh_end = i + fresh;
			link_fresh(t);
		} else {
			use_batch(t, i);
		}
	}
	r = t->spare;
	*ref = mw_spare_pop(t, r);
	return r;
}

void mw_spare_give(struct mw_shard *t, struct mw_record *r, uint32_t ref)
{
	if (!t->room && !t->spare) {
		t->room = MW_BATCH;
	} else if (!t->room) {
		uint32_t first = mw_ref_index(mw_get(&t->spare->ref));

		if (t->n_full < MW_FULL) {
			mw_set(&t->spare->ref, mw_ref(t->full));
			t->full = first;
			t->n_full++;
		} else {
			mw_batch_give(first);
		}
		t->spare = NULL;
		t->room = MW_BATCH;
	}
	t->room--;
	mw_spare_push(t, r, ref);
	mw_assert(!t->n_full == !t->full && t->n_full <= MW_FULL);
}

void mw_shard_give_records(struct mw_shard *u)
{
	uint32_t first, next;

	for (; u->fresh < u->fresh_end || u->spare; u->spare = NULL) {
		if (!u->spare)
			link_fresh(u);
		mw_batch_give(mw_ref_index(mw_get(&u->spare->ref)));
	}
	for (first = u->full; first; first = next) {
		next = mw_ref_index(mw_get(&mw_record_at(first)->ref));
		mw_batch_give(first);
	}
	mw_shard_forget_records(u);
}

/* --- the gate --------------------------------------------------------------------------- */

static __thread bool closer __attribute__((tls_model("initial-exec"))); /* it closed the gate */

static void close_gate(void)
{
	closer = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_fetch_add(&mw_gate, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with the one in move_begin */
}

static void open_gate(void)
{
	__atomic_fetch_sub(&mw_gate, 1, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	closer = false;
}

void mw_gate_open(void)
{
	mw_assert(closer && mw_get(&mw_gate));
	mw_rank_left(MW_RANK_GATE);
	open_gate();
}

/*
 * A move takes some twenty instructions: a wait is long only if its thread is preempted. The
 * calling thread's own move goes on when the call returns: a signal handler that forks or exits
 * in the middle of it can't wait for it.
 */
static bool is_moving(const struct mw_shard *t)
{
	return t != mw_self && __atomic_load_n(&t->moving, __ATOMIC_ACQUIRE);
}

void mw_gate_close_until(uint64_t until)
{
	const struct mw_shard *t;
	unsigned turns = 0;

	mw_rank_wait(MW_RANK_GATE);
	close_gate();
	MW_EACH_SHARD(t)
	while (is_moving(t) && !(until && mw_is_past(until)))
		mw_let_run(&turns);
	mw_rank_took(MW_RANK_GATE);
}

bool mw_gate_try(void)
{
	const struct mw_shard *t;

	close_gate();
	MW_EACH_SHARD(t)
	{
		if (is_moving(t)) {
			open_gate();
			return false;
		}
	}
	mw_rank_took(MW_RANK_GATE);
	return true;
}

void mw_gate_after_fork(void)
{
	mw_gate = closer; /* no other thread that keeps it closed exists here */
}

/* --- moves ------------------------------------------------------------------------------ */

static void move(const struct mw_shard *t, struct mw_slot *s)
{
	struct mw_flushed_frees *to = mw_flushed_frees_taken(s->id);

	mw_assert(s->id < mw_callsites_end());
	mw_add_release(&to->freed, s->freed);
	mw_add_release(&to->frees, s->frees);
	mw_add(&to->life_sum, s->life_sum);
	raise_max(t, s);
	mw_set(&s->freed, 0);
	mw_set(&s->frees, 0);
	mw_set(&s->life_sum, 0);
	mw_set(&s->life_max, 0);
}

static void move_end(struct mw_shard *t)
{
	__atomic_store_n(&t->moving, 0, __ATOMIC_RELEASE);
}

/* False: the gate is closed. */
static bool move_begin(struct mw_shard *t)
{
	mw_assert(!t->moving);
	mw_set(&t->moving, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* this sees the gate, or its closer sees this */
	if (mw_likely(!mw_get(&mw_gate)))
		return true;
	move_end(t);
	return false;
}

struct mw_slot *mw_slot_claim(struct mw_shard *t, uint32_t id)
{
	struct mw_slot *s = mw_slot(t, id);

	if (s->id && mw_slots_widen(t))
		s = mw_slot(t, id);
	if (!move_begin(t))
		return NULL;
	if (s->id)
		move(t, s);
	mw_set(&s->id, id);
	move_end(t);
	return s;
}

static void move_caller(struct mw_caller *w)
{
	struct mw_flushed *to;

	if (!w->allocs) /* else w->id is a location's */
		return;
	mw_assert(w->id && w->id < mw_callsites_end());
	to = mw_flushed(w->id);
	mw_add(&to->bytes, w->bytes);
	mw_add(&to->allocs, w->allocs);
	mw_set(&w->bytes, 0);
	mw_set(&w->allocs, 0);
}

bool mw_shard_flush(struct mw_shard *t, struct mw_shard *u)
{
	if (!move_begin(t))
		return false;
	for (struct mw_slot *s = mw_slots_begin(u); s < mw_slots_end(u); s++)
		if (s->id)
			move(u, s);
	for (struct mw_caller *w = u->callers; w < mw_callers_end(u); w++)
		move_caller(w);
	move_end(t);
	return true;
}

bool mw_caller_claim(struct mw_shard *t, struct mw_caller *w, uint32_t id)
{
	if (!move_begin(t))
		return false;
	move_caller(w);
	mw_set(&w->id, id);
	move_end(t);
	return true;
}

/*
 * The freeing thread's clock may be behind the allocating thread's, by a step at most
 * (generation.h): a negative lifespan counts as 0, not as nearly 2^32. Nearly 2^32 would always
 * be a new maximum, so the fast path never counts one.
 */
static uint32_t life_of(uint32_t life)
{
	return life > UINT32_MAX - MW_LIFE_BEHIND ? 0 : life;
}

void mw_count_free(struct mw_shard *t, uint32_t id, uint64_t bytes, uint32_t life)
{
	struct mw_slot *s = mw_slot(t, id);

	mw_assert(id && id < mw_callsites_end());
	life = life_of(life);
	/* a new maximum belongs to the present epoch; only start.c takes its permit up (forget.c) */
	if (mw_unlikely(!mw_permit_is(t->known, &mw_permit)))
		s = NULL;
	else if (s->id != id)
		s = mw_slot_claim(t, id);
	if (s) {
		if (life > s->life_max) /* release: mw_sum_slot then checks t's epoch */
			__atomic_store_n(&s->life_max, life, __ATOMIC_RELEASE);
		mw_bump(&s->life_sum, life);
		mw_slot_add_free(s, bytes);
	} else {
		mw_shared_free(id, bytes, 1, life);
	}
}

void mw_shared_alloc(uint32_t id, uint64_t bytes, int64_t count)
{
	struct mw_flushed *f = mw_flushed(id);

	mw_add(&f->bytes, bytes);
	mw_add(&f->allocs, (uint64_t)count);
}

void mw_shared_free(uint32_t id, uint64_t bytes, uint32_t count, uint32_t life)
{
	struct mw_flushed_frees *f = mw_flushed_frees_taken(id);

	life = life_of(life);
	mw_add_release(&f->freed, bytes);
	mw_add_release(&f->frees, count);
	if (life) {
		mw_add(&f->life_sum, (uint64_t)life * count);
		mw_life_max_raise(id, mw_epoch(), life);
	}
}
