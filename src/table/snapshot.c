/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot.c - the readers' lock, sums, baselines and rows; see snapshot.h. */
#include "snapshot.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fork_baseline.h"
#include "overruns.h"
#include "shard.h"

/* Sums at the last reset, or when the tenant changed; live bytes for growth. */
struct bases {
	int64_t live[MW_CS_CHUNK]; /* bytes; alone, since a fork sets only these */
	struct mw_counters c[MW_CS_CHUNK];
};
_Static_assert(sizeof(struct bases) == MW_CS_BASES, "what ids.c sets aside");

/* These change under mw_rebasing_lock, and are read under either lock. */
static struct bases *bases[MW_CS_MAX / MW_CS_CHUNK]; /* NULL: zeros */
/* Counts of all rows before the last reset, which rows no longer show. */
static struct mw_counters before;
uint64_t mw_life_scale = 1;

/* A reset waits for present readers; later readers wait for the reset. */
#define UNLOCKED PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
static pthread_rwlock_t lock = UNLOCKED;
static bool resetting; /* under mw_rebasing_lock */

/* This thread's hold on the lock. Set before and after the lock's calls: see mw_reading_mine. */
enum mine { NOT_MINE, MAYBE, SHARED, ALONE };
static __thread uint8_t mine __attribute__((tls_model("initial-exec")));

static void mine_is(enum mine m)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mine = (uint8_t)m;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void mw_reading_lock(void)
{
	mine_is(MAYBE);
	pthread_rwlock_rdlock(&lock);
	mine_is(SHARED);
}

bool mw_reading_try(void)
{
	bool had;

	mine_is(MAYBE);
	had = pthread_rwlock_tryrdlock(&lock) == 0;
	mine_is(had ? SHARED : NOT_MINE);
	return had;
}

bool mw_reading_lock_until(const struct timespec *until)
{
	bool had;

	mine_is(MAYBE);
	had = pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, until) == 0;
	mine_is(had ? SHARED : NOT_MINE);
	return had;
}

void mw_reading_unlock(void)
{
	mine_is(MAYBE);
	pthread_rwlock_unlock(&lock);
	mine_is(NOT_MINE);
}

void mw_rebasing_lock(void)
{
	mine_is(MAYBE);
	pthread_rwlock_wrlock(&lock);
	mine_is(ALONE);
}

bool mw_rebasing_try(void)
{
	bool had;

	mine_is(MAYBE);
	had = pthread_rwlock_trywrlock(&lock) == 0;
	mine_is(had ? ALONE : NOT_MINE);
	return had;
}

void mw_rebasing_unlock(void)
{
	mw_reading_unlock();
}

bool mw_reading_mine(void)
{
	return mine != NOT_MINE;
}

/* --- sums ---------------------------------------------------------------------- */

/* max: with its epoch */
static void add_max(struct mw_sum *sum, uint64_t max, const struct mw_callsite *c)
{
	if ((uint32_t)(max >> 32) >= mw_epoch_from(c) && (uint32_t)max > sum->life_max)
		sum->life_max = (uint32_t)max;
}

/* s: t's */
void mw_sum_slot(struct mw_sum *sum, const struct mw_shard *t, const struct mw_slot *s)
{
	uint32_t epoch, max;

	sum->c.freed += mw_get(&s->freed);
	sum->c.frees += mw_get(&s->frees);
	sum->c.life_sum += mw_get(&s->life_sum);
	do {
		epoch = mw_shard_epoch(t);
		max = __atomic_load_n(&s->life_max, __ATOMIC_ACQUIRE);
	} while (epoch != mw_shard_epoch(t)); /* then its maxima are the location's, read later */
	add_max(sum, (uint64_t)epoch << 32 | max, mw_callsite(mw_get(&s->id)));
}

void mw_sum_flushed_frees(struct mw_sum *sum, uint32_t id)
{
	const struct mw_counters *c = &mw_flushed(id)->c;

	sum->c.freed += mw_get(&c->freed);
	sum->c.frees += mw_get(&c->frees);
	sum->c.life_sum += mw_get(&c->life_sum);
}

void mw_sum_flushed_allocs(struct mw_sum *sum, uint32_t id)
{
	const struct mw_flushed *f = mw_flushed(id);

	sum->c.bytes += mw_get(&f->c.bytes);
	sum->c.allocs += mw_get(&f->c.allocs);
	add_max(sum, mw_get(&f->life_max), mw_callsite(id));
}

void mw_sum_caller(struct mw_sum *sum, const struct mw_caller *w)
{
	sum->c.bytes += mw_get(&w->bytes);
	sum->c.allocs += mw_get(&w->allocs);
}

/* Adds one shard's slots for the ids from `from` to before `to`. */
static void add_slots(struct mw_sum *sums, uint32_t from, uint32_t to, const struct mw_shard *t)
{
	for (uint32_t i = 0; i < MW_SLOTS; i++) {
		uint32_t id = mw_get(&t->slots[i].id);

		if (id >= from && id < to)
			mw_sum_slot(&sums[id - from], t, &t->slots[i]);
	}
}

static void add_callers(struct mw_sum *sums, uint32_t from, uint32_t to, const struct mw_shard *t)
{
	for (uint32_t i = 0; i < MW_CALLERS; i++) {
		uint32_t id = mw_get(&t->callers[i].id);

		if (id >= from && id < to)
			mw_sum_caller(&sums[id - from], &t->callers[i]);
	}
}

/* The gate is closed. */
static void sum_up(struct mw_sum *sums, uint32_t from, uint32_t to)
{
	struct mw_shard *t;
	uint32_t id;

	for (id = from; id < to; id++)
		mw_sum_flushed_frees(&sums[id - from], id);
	for (t = __atomic_load_n(&mw_threads, __ATOMIC_ACQUIRE); t; t = t->next)
		add_slots(sums, from, to, t);
	mw_sum_allocs_next();
	for (t = __atomic_load_n(&mw_threads, __ATOMIC_ACQUIRE); t; t = t->next)
		add_callers(sums, from, to, t);
	for (id = from; id < to; id++)
		mw_sum_flushed_allocs(&sums[id - from], id);
}

bool mw_sums_between(struct mw_sum *sums, uint32_t from, uint32_t to)
{
	if (!mw_gate_try())
		return false;
	memset(sums, 0, (to - from) * sizeof(*sums));
	sum_up(sums, from, to);
	mw_gate_open();
	return true;
}

struct mw_sum *mw_sums(uint32_t *end)
{
	struct mw_sum *sums;

	mw_gate_close();
	*end = mw_callsites_end();
	sums = mw_arena_lend(*end * sizeof(*sums));
	if (sums)
		sum_up(sums + 1, 1, *end);
	mw_gate_open();
	return sums;
}

void mw_sums_free(struct mw_sum *sums, uint32_t end)
{
	mw_arena_return(sums, end * sizeof(*sums));
}

/* --- baselines ------------------------------------------------------------------- */

/* Where an id's baselines are. */
struct base {
	int64_t *live;
	struct mw_counters *c;
};

static struct base base_in(struct bases *chunk, uint32_t id)
{
	return (struct base){ &chunk->live[id % MW_CS_CHUNK], &chunk->c[id % MW_CS_CHUNK] };
}

/* False: no memory. */
static bool base_for(uint32_t id, struct base *b)
{
	struct bases **chunk = &bases[id / MW_CS_CHUNK];

	if (!*chunk)
		*chunk = mw_arena_map_aside(sizeof(**chunk));
	if (*chunk)
		*b = base_in(*chunk, id);
	return *chunk != NULL;
}

static int64_t live_bytes(const struct mw_sum *s)
{
	return (int64_t)(s->c.bytes - s->c.freed);
}

bool mw_base_fold(uint32_t id, uint32_t into, const struct mw_sum *s)
{
	struct mw_counters *sum = &mw_flushed(into)->c;
	struct base b, to;
	/* freed since the reset, but allocated before it: `into` gets no live blocks by the fold */
	uint64_t bytes, calls;

	if (!base_for(id, &b) || !base_for(into, &to))
		return false;
	bytes = (s->c.freed - b.c->freed) - (s->c.bytes - b.c->bytes);
	calls = (s->c.frees - b.c->frees) - (s->c.allocs - b.c->allocs);
	mw_fork_baseline_fold(id, b.c, into, to.c,
			      &(struct mw_counters){ .bytes = bytes, .allocs = calls });
	mw_add(&sum->freed, s->c.freed - b.c->freed);
	mw_add(&sum->frees, s->c.frees - b.c->frees);
	mw_add(&sum->bytes, s->c.bytes - b.c->bytes + bytes);
	mw_add(&sum->allocs, s->c.allocs - b.c->allocs + calls);
	mw_add(&sum->life_sum, s->c.life_sum - b.c->life_sum);
	to.c->bytes += bytes;
	to.c->allocs += calls;
	*to.live += *b.live;
	if (s->life_max)
		mw_life_max_raise(into, mw_epoch(), s->life_max);
	*b.c = s->c;
	*b.live = 0;
	return true;
}

enum rebase { FROM_ZERO, FROM_FORK, FROM_BIRTH };

static void rebase(enum rebase from)
{
	struct mw_sum *sums;
	uint32_t end, id;

	sums = mw_sums(&end);
	if (!sums)
		return;
	for (id = 1; id < end; id++) {
		const struct mw_sum *s = &sums[id];
		struct base b;

		if (!s->c.allocs && !bases[id / MW_CS_CHUNK])
			continue; /* counters and baseline were always zero */
		if (!base_for(id, &b))
			continue;
		if (from == FROM_ZERO) {
			before.bytes += s->c.bytes - b.c->bytes;
			before.allocs += s->c.allocs - b.c->allocs;
			before.freed += s->c.freed - b.c->freed;
			before.frees += s->c.frees - b.c->frees;
			*b.c = s->c;
		} else if (from == FROM_BIRTH) {
			mw_fork_baseline_set(id, &s->c);
		}
		*b.live = live_bytes(s);
	}
	mw_sums_free(sums, end);
}

void mw_reset(void)
{
	mw_rebasing_lock();
	resetting = true;
	/* first: blocks that die from here on raise the new epoch's maximum */
	mw_epoch_next();
	__atomic_store_n(&mw_epoch_reset, mw_epoch(), __ATOMIC_RELEASE);
	/* a call that compares with an old maximum counts before the reset, too */
	(void)mw_calls_left();
	rebase(FROM_ZERO);
	resetting = false;
	mw_rebasing_unlock();
}

/* If a signal handler forks in the middle of a reset of this very thread, the reset goes on. */
void mw_reading_after_fork(bool held)
{
	static const pthread_rwlock_t unlocked = UNLOCKED;

	if (mine != MAYBE) /* else the lock's state isn't known, and stays */
		lock = unlocked;
	if (mine == SHARED)
		pthread_rwlock_rdlock(&lock);
	else if (mine == ALONE)
		pthread_rwlock_wrlock(&lock);
	else if (!held && resetting)
		mw_reset();
}

struct mw_counters mw_before_reset(void)
{
	return before;
}

void mw_growth_from_here(bool family)
{
	mw_rebasing_lock();
	rebase(family ? FROM_BIRTH : FROM_FORK);
	mw_rebasing_unlock();
}

/* --- rows ------------------------------------------------------------------------------ */

/* One block holds the snapshot, its rows and their texts. */
struct building {
	struct mw_snapshot *s;
	char *text, *end;
	bool full;
};

/* Appends; once there is no room, nothing more is appended. */
static void put(struct building *b, const char *text, size_t n)
{
	if ((size_t)(b->end - b->text) <= n)
		b->full = true;
	if (b->full)
		return;
	memcpy(b->text, text, n);
	b->text += n;
}

/* Replaces printf("%llu"), which took a third of a page's time. */
static void put_decimal(struct building *b, uint64_t v)
{
	char digits[20], *d = digits + sizeof(digits);

	do
		*--d = (char)('0' + v % 10);
	while (v /= 10);
	put(b, d, (size_t)(digits + sizeof(digits) - d));
}

static void put_native(struct building *b, const struct mw_callsite *c)
{
	char where[64];

	const char *symbol = __atomic_load_n(&c->symbol, __ATOMIC_ACQUIRE);

	if (symbol) {
		put(b, symbol, strlen(symbol));
		return;
	}
	if (c->path)
		put(b, c->path->text, c->path->len);
	put(b, where,
	    (size_t)snprintf(where, sizeof(where), "(+0x%llx) [0x%llx]", (unsigned long long)c->at,
			     (unsigned long long)c->addr));
}

static const char *put_name(struct building *b, struct mw_row *r, const struct mw_callsite *c)
{
	char *out = b->text;

	switch (mw_get(&c->kind)) {
	case MW_CS_RUBY:
		put(b, c->path->text, c->path->len);
		put(b, ":", 1);
		put_decimal(b, c->at);
		r->kind = MW_KIND_RUBY;
		r->file_len = c->path->len;
		r->at = c->at;
		break;
	case MW_CS_NATIVE:
		put_native(b, c);
		r->kind = MW_KIND_NATIVE;
		r->file_len = c->path ? c->path->len : 0;
		r->at = c->at;
		break;
	default:
		put(b, mw_callsite_special(r->id), strlen(mw_callsite_special(r->id)));
		r->kind = MW_KIND_SPECIAL;
	}
	r->location_len = (uint32_t)(b->text - out);
	put(b, "", 1);
	return b->full ? "" : out;
}

bool mw_row_count(struct mw_row *r, uint32_t id, const struct mw_sum *s)
{
	static const struct mw_counters zero;
	const struct bases *chunk = bases[id / MW_CS_CHUNK];
	const struct mw_counters *since = chunk ? &chunk->c[id % MW_CS_CHUNK] : &zero;
	const struct mw_overruns *o = mw_overruns_at(id);
	int64_t live = (int64_t)(s->c.allocs - s->c.frees), bytes = live_bytes(s);
	const struct mw_counters born = mw_fork_baseline_part(id, since);

	r->total += s->c.bytes - since->bytes;
	r->allocations += s->c.allocs - since->allocs;
	r->freed += s->c.freed - since->freed;
	r->frees += s->c.frees - since->frees;
	r->life_sum += (s->c.life_sum - since->life_sum) * mw_life_scale;
	if (s->life_max * mw_life_scale > r->life_max)
		r->life_max = s->life_max * mw_life_scale;
	r->born.total += born.bytes;
	r->born.allocations += born.allocs;
	r->born.freed += born.freed;
	r->born.frees += born.frees;
	r->born.life_sum += born.life_sum * mw_life_scale;
	r->growth += bytes - (chunk ? chunk->live[id % MW_CS_CHUNK] : 0);
	/* a writer may be between two counters: the difference may be negative, and shows as 0 */
	r->live += live > 0 ? (uint64_t)live : 0;
	r->live_bytes += bytes > 0 ? (uint64_t)bytes : 0;
	if (o) {
		r->overruns += __atomic_load_n(&o->count, __ATOMIC_ACQUIRE);
		r->overrun_size = mw_get(&o->last_size);
	}
	return r->allocations || r->frees || r->live || r->overruns;
}

static void build(struct building *b, const struct mw_sum *sums, uint32_t end)
{
	struct mw_snapshot *s = b->s;
	uint32_t *row_of = (uint32_t *)(void *)(s->rows + end); /* id -> row + 1 */

	memset(row_of, 0, end * sizeof(*row_of));
	mw_rcu_enter();
	for (int pass = 0; pass < 2; pass++) {
		/* first the locations, then the aliases that add to them */
		for (uint32_t id = 1; id < end && !b->full; id++) {
			const struct mw_callsite *c = mw_callsite(id);
			uint32_t real = mw_callsite_shown(id);
			struct mw_row *r;

			/* a line found since the sums were taken may have an id that they lack */
			if (real >= end)
				real = MW_CS_UNKNOWN;
			/* an alias made between the passes was added in the first one */
			if (__atomic_load_n(&c->kind, __ATOMIC_ACQUIRE) == MW_CS_FREE ||
			    (real != id) != pass || (pass && row_of[id]))
				continue;
			if (row_of[real]) {
				(void)mw_row_count(&s->rows[row_of[real] - 1], id, &sums[id]);
				continue;
			}
			r = &s->rows[s->n];
			memset(r, 0, sizeof(*r));
			r->id = real;
			if (!mw_row_count(r, id, &sums[id]))
				continue;
			r->location = put_name(b, r, mw_callsite(real));
			row_of[real] = (uint32_t)++s->n;
		}
	}
	mw_rcu_leave();
}

enum { NAME = 128 }; /* bytes for a location's text; unused ones are never touched */

struct mw_snapshot *mw_snapshot_take(void)
{
	size_t name = NAME, fixed, texts;
	struct building b = { 0 };
	struct mw_sum *sums;
	uint32_t end;

	mw_name_natives();
	for (;;) {
		mw_reading_lock();
		sums = mw_sums(&end);
		fixed = sizeof(*b.s) + end * (sizeof(struct mw_row) + sizeof(uint32_t));
		texts = end * name + 4096;
		b.s = sums ? malloc(fixed + texts) : NULL;
		if (b.s) {
			b.s->n = 0;
			b.s->family = false;
			b.s->rows = (struct mw_row *)(void *)(b.s + 1);
			b.text = (char *)b.s + fixed;
			b.end = b.text + texts;
			b.full = false;
			build(&b, sums, end);
		}
		if (sums)
			mw_sums_free(sums, end);
		mw_reading_unlock();
		if (!b.s || !b.full)
			return b.s;
		free(b.s);
		name *= 4;
	}
}

void mw_snapshot_free(struct mw_snapshot *s)
{
	free(s);
}
