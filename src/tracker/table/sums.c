/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sums.c - each location's counts, over all threads; see snapshot.h. */
#include <string.h>

#include "sampled_blocks.h"
#include "snapshot.h"

uint64_t mw_sum_live(const struct mw_sum *s)
{
	int64_t bytes = (int64_t)(s->c.bytes - s->c.freed);

	return bytes > 0 ? (uint64_t)bytes : 0;
}

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
	const struct mw_flushed_frees *f = mw_flushed_frees(id);

	if (!f)
		return;
	sum->c.freed += mw_get(&f->freed);
	sum->c.frees += mw_get(&f->frees);
	sum->c.life_sum += mw_get(&f->life_sum);
}

void mw_sum_flushed_allocs(struct mw_sum *sum, uint32_t id)
{
	const struct mw_flushed *f = mw_flushed(id);
	const struct mw_flushed_frees *frees = mw_flushed_frees(id);

	sum->c.bytes += mw_get(&f->bytes);
	sum->c.allocs += mw_get(&f->allocs);
	if (frees)
		add_max(sum, mw_get(&frees->life_max), mw_callsite(id));
}

void mw_sum_caller(struct mw_sum *sum, const struct mw_caller *w)
{
	sum->c.bytes += mw_get(&w->bytes);
	sum->c.allocs += mw_get(&w->allocs);
}

struct sampled_sums {
	struct mw_sum *sums;
	uint32_t from, to;
};

/*
 * A block of n bytes that stands for `count` was chosen with a chance of 1 in `count`, about: so its part of the sum
 * has the variance n * n * count * (count - 1).
 */
static void add_sampled(const void *p, const struct mw_sampled_block *b, void *ctx)
{
	const struct sampled_sums *s = ctx;
	const struct mw_record *r = mw_record_at(mw_ref_index(b->ref));
	uint64_t where = __atomic_load_n(&r->where, __ATOMIC_ACQUIRE);
	uint32_t id = mw_callsite_shown((uint32_t)where & MW_CS_MASK), size = mw_get(&r->size);
	double kib = (double)mw_size_decode(size < MW_SIZE_HUGE ? size : MW_SIZE_HUGE - 1) / 1024;

	if (!mw_record_is(where, p) || id < s->from || id >= s->to)
		return;
	s->sums[id - s->from].samples++;
	s->sums[id - s->from].variance +=
		(uint64_t)(kib * kib * (double)b->count * ((double)b->count - 1) + 0.5);
}

void mw_sum_sampled(struct mw_sum *sums, uint32_t from, uint32_t to)
{
	if (mw_sampled_live())
		mw_sampled_each(add_sampled, &(struct sampled_sums){ sums, from, to });
}

/* Adds one shard's slots for the ids from `from` to before `to`. */
static void add_slots(struct mw_sum *sums, uint32_t from, uint32_t to, const struct mw_shard *t)
{
	for (const struct mw_slot *s = mw_slots_begin(t); s < mw_slots_end(t); s++) {
		uint32_t id = mw_get(&s->id);

		if (id >= from && id < to)
			mw_sum_slot(&sums[id - from], t, s);
	}
}

static void add_callers(struct mw_sum *sums, uint32_t from, uint32_t to, struct mw_shard *t)
{
	for (const struct mw_caller *w = t->callers; w < mw_callers_end(t); w++) {
		uint32_t id = mw_get(&w->id);

		if (id >= from && id < to)
			mw_sum_caller(&sums[id - from], w);
	}
}

/* The gate is closed. */
static void sum_shards(struct mw_sum *sums, uint32_t from, uint32_t to)
{
	struct mw_shard *t;
	uint32_t id;

	mw_assert(mw_get(&mw_gate));
	for (id = from; id < to; id++)
		mw_sum_flushed_frees(&sums[id - from], id);
	MW_EACH_SHARD(t)
	add_slots(sums, from, to, t);
	mw_sum_allocs_next();
	MW_EACH_SHARD(t)
	add_callers(sums, from, to, t);
	for (id = from; id < to; id++)
		mw_sum_flushed_allocs(&sums[id - from], id);
}

bool mw_sums_between(struct mw_sum *sums, uint32_t from, uint32_t to)
{
	if (!mw_gate_try())
		return false;
	memset(sums, 0, (to - from) * sizeof(*sums));
	sum_shards(sums, from, to);
	mw_gate_open();
	return true;
}

struct mw_sum *mw_sums(uint32_t *end)
{
	struct mw_sum *sums;

	mw_gate_close();
	*end = mw_callsites_end();
	sums = mw_arena_lend(*end * sizeof(*sums));
	if (sums) {
		sum_shards(sums + 1, 1, *end);
		mw_sum_sampled(sums + 1, 1, *end);
	}
	mw_gate_open();
	mw_shards_trim();
	mw_arena_hide();
	return sums;
}

void mw_sums_free(struct mw_sum *sums, uint32_t end)
{
	mw_arena_return(sums, end * sizeof(*sums));
}
