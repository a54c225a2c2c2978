/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sampled.h"

#include "admit.h"
#include "dismiss.h"
#include "forget.h"
#include "sample.h"
#include "shared.h"
#include "tracker/stacks/stacks.h"
#include "tracker/table/generation.h"
#include "tracker/table/sampled_blocks.h"

enum {
	RATE = 512 << 10, /* bytes from sample to sample, without stacks */
	STARTING_STEP = 8192 /* bytes between two looks at a Ruby that is starting */
};

#define EXACT { (size_t)INT32_MAX + 1, (size_t)INT32_MAX + 1, INT32_MAX, 1 }
struct mw_least mw_least = EXACT;
static const struct mw_least exact = EXACT, none = { .free = UINTPTR_MAX };

/* --- a sample ------------------------------------------------------------------------ */

/* Its free wasn't seen, and the address is another block's now. t is busy. */
static void forget_stale(struct mw_shard *t, const void *p)
{
	struct mw_dismissed d;

	if (mw_hide_sampled(p, &d))
		mw_count_hidden(t, p, &d);
}

static void note_sampled(struct mw_shard *t, void *p, size_t n, uintptr_t caller)
{
	uint32_t id = mw_locate(t, caller), generation = mw_generation(t), size = mw_size_encode(n),
		 ref = 0;
	uint32_t count = mw_sample_stands_for(t, n);
	struct mw_record *r = size != MW_SIZE_NONE ? mw_spare_take(t, &ref) : NULL;

	forget_stale(t, p);
	/* its code bit makes its end a cold one, which looks into the sets */
	if (r)
		mw_record_fill(r, p, size, id | (uint32_t)MW_CODE, generation);
	if (r && mw_sampled_put(p, (struct mw_sampled_block){ ref, count })) {
		mw_shared_alloc(id, n * count, count);
		mw_sample_keep(t, ref, id);
		return;
	}
	if (r)
		mw_spare_give(t, r, ref);
	mw_lose(size);
}

void mw_sampled_step(struct mw_shard *t, void *p, size_t n, uintptr_t caller)
{
	uint64_t bytes = t->unsampled_from - t->unsampled + n;
	uint64_t rate = mw_counts_rate(), left;

	if (mw_clock.in_bytes)
		mw_add(&mw_clock_bytes, bytes);
	if (mw_sample_due(t, bytes, rate) && !mw_get(&mw_paused))
		note_sampled(t, p, n, caller);
	else if (mw_get(&mw_ruby.how) == MW_RUBY_STARTING)
		(void)mw_locate(t, caller); /* is its VM up? */
	left = mw_sample_next(t, rate);
	if (mw_get(&mw_ruby.how) == MW_RUBY_STARTING && left > STARTING_STEP)
		left = STARTING_STEP;
	mw_set(&t->unsampled, left);
	t->unsampled_from = left;
}

/* --- from one to the other ----------------------------------------------------------- */

static uint64_t fixed; /* relaxed; bytes, 0: as for stacks */
static bool with_stacks; /* the thinning has the lock of stacks.h */
static double undropped; /* with it: samples that were due, of each that was kept */

uint64_t mw_counts_rate(void)
{
	uint64_t is = mw_get(&fixed);

	if (!is)
		is = mw_sampling_rate();
	return is ? is : RATE;
}

/*
 * Stays a sample if it was one of those whose stacks are kept. The table's sums are then of the same samples as the
 * flame graph's. Without stacks chance decides.
 */
static uint32_t stands_for(struct mw_shard *t, const struct mw_dismissed *d)
{
	uint64_t size = mw_size_decode(d->size);

	return with_stacks ? mw_sample_rounded(t, undropped * mw_stacks_weight(d->ref, d->where)) :
			     mw_sample_by_chance(t, size, mw_counts_rate());
}

/* p stands for `count` blocks from now on. False: it has just been freed, or there is no memory. */
static bool becomes_sample(const void *p, const struct mw_dismissed *d, uint32_t count)
{
	uint64_t where = d->where;

	if (!mw_sampled_put(p, (struct mw_sampled_block){ d->ref, count }))
		return false;
	while (mw_record_is(where, p))
		if (__atomic_compare_exchange_n(&d->record->where, &where, where | MW_CODE, true,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	(void)mw_sampled_take(p);
	return false;
}

/* The sums stay what they were, about: a block that is dropped was never allocated. */
static void thin(struct mw_shard *t, const void *p, struct mw_dismissed *d)
{
	uint32_t id = (uint32_t)d->where & MW_CS_MASK, count = 0;
	uint64_t size = mw_size_decode(d->size);
	struct mw_sampled_block is;

	if (!mw_sampled_find(p, &is))
		count = stands_for(t, d);
	else if (is.ref == d->ref) /* a sample of an earlier time */
		return;
	if (count && becomes_sample(p, d, count)) {
		mw_shared_alloc(id, size * count - size, (int64_t)count - 1);
	} else if (mw_hide_once(p, d)) {
		mw_shared_alloc(id, -size, -1);
		mw_unflag(p, d);
		mw_spare_give(t, d->record, d->ref);
	}
}

static void change_allocations(const struct mw_least *to)
{
	mw_set(&mw_least.malloc, to->malloc);
	mw_set(&mw_least.calloc, to->calloc);
	mw_set(&mw_least.realloc, to->realloc);
}

/* A thread drops its sample if another one has the lock, whatever the block. With the lock. */
static double samples_undropped(void)
{
	double kept = (double)mw_get(&mw_stacks_figures.samples);

	return kept > 0 ? 1 + (double)mw_get(&mw_stacks_figures.dropped) / kept : 1;
}

/* No block is counted exactly now: forget.c. */
static void begin_to_sample(void)
{
	mw_set(&mw_sampled, true);
	mw_tails_expect(false);
	change_allocations(&none);
	mw_set(&mw_least.free, none.free);
}

bool mw_counts_sample(uint64_t rate)
{
	bool done, unseen = mw_get(&mw_unseen);

	if (mw_get(&mw_sampled))
		return true;
	mw_set(&fixed, rate);
	with_stacks = mw_sampling_rate() && mw_stacks_lock();
	undropped = samples_undropped();
	mw_set(&mw_tails_old, true);
	mw_set(&mw_unseen, true); /* a free of a block that was dropped is no second one */
	done = mw_each_alone(thin, begin_to_sample);
	if (!done)
		mw_set(&mw_unseen, unseen);
	if (with_stacks)
		mw_stacks_unlock();
	return done;
}

void mw_counts_exactly(void)
{
	if (!mw_get(&mw_sampled))
		return;
	/* each thread sees these before there is a block with a record and a tail: it would free it without a look */
	mw_tails_expect(true);
	mw_set(&mw_least.free, exact.free);
	(void)mw_permits_left(MW_CALLS_MS);
	mw_set(&mw_sampled, false);
	change_allocations(&exact);
}
