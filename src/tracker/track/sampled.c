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

#define EXACT { MW_OWN_LARGE_LEAST, (size_t)INT32_MAX + 1, INT32_MAX, 1 }
struct mw_least mw_least = EXACT;
static const struct mw_least exact = EXACT, none = { .free = UINTPTR_MAX };

_Static_assert((size_t)MW_STEP <= MW_OWN_LARGE_LEAST,
	       "what is left of a counter passes no call that is counted exactly");

/* --- a sample ------------------------------------------------------------------------ */

/* Its free wasn't seen, and the address is another block's now. t is busy. */
static void forget_stale(struct mw_shard *t, const void *p)
{
	struct mw_dismissed d;

	if (mw_hide_sampled(p, &d))
		mw_count_hidden(t, p, &d);
}

static void note(struct mw_shard *t, void *p, size_t n, uintptr_t caller)
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
		note(t, p, n, caller);
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

uint64_t mw_counts_rate(void)
{
	uint64_t is = mw_get(&fixed);

	if (!is)
		is = mw_sampling_rate();
	return is ? is : RATE;
}

/* Frees of these go past the filter, but for those that the real allocator doesn't know. */
static void notice_boot(void)
{
	for (uintptr_t at = 0; at < mw_boot_bytes; at += 16)
		mw_noticed_add((const void *)(mw_boot_start + at));
}

/*
 * Stays a sample if it was one of those whose stacks are kept. The table's sums are then of the same samples as the
 * flame graph's. Without stacks chance decides.
 */
static uint32_t stands_for(struct mw_shard *t, const struct mw_dismissed *d)
{
	uint64_t size = mw_size_decode(d->size);

	return with_stacks ? mw_sample_rounded(t, mw_stacks_weight(d->ref, d->where)) :
			     mw_sample_by_chance(t, size, mw_counts_rate());
}

/* The sums stay what they were, about: a block that is dropped was never allocated. */
static void thin(struct mw_shard *t, const void *p, struct mw_dismissed *d)
{
	uint32_t id = (uint32_t)d->where & MW_CS_MASK,
		 was = mw_sampled_take(p); /* a sample of an earlier time */
	uint32_t had = was ? was : 1, count = was ? was : stands_for(t, d);
	uint64_t size = mw_size_decode(d->size);

	if (count) {
		d->where |= MW_CODE;
		mw_unhide(d);
		if (!mw_sampled_put(p, (struct mw_sampled_block){ d->ref, count })) {
			mw_hide_record(d);
			count = 0;
		}
	}
	mw_shared_alloc(id, size * count - size * had, (int64_t)count - had);
	if (count)
		return;
	mw_unflag(p, d);
	mw_spare_give(t, d->record, d->ref);
}

static void change(bool sampled, const struct mw_least *least)
{
	mw_set(&mw_sampled, sampled);
	mw_tails_expect(!sampled);
	mw_set(&mw_least.malloc, least->malloc);
	mw_set(&mw_least.calloc, least->calloc);
	mw_set(&mw_least.realloc, least->realloc);
	mw_set(&mw_least.free, least->free);
}

static void begin_to_sample(void)
{
	mw_set(&mw_unseen, true);
	mw_set(&mw_tails_old, true);
	change(true, &none);
}

bool mw_counts_sample(uint64_t rate)
{
	bool done;

	if (mw_get(&mw_sampled))
		return true;
	mw_set(&fixed, rate);
	notice_boot();
	with_stacks = mw_sampling_rate() && mw_stacks_lock();
	done = mw_each_alone(thin, begin_to_sample);
	if (with_stacks)
		mw_stacks_unlock();
	return done;
}

void mw_counts_exactly(void)
{
	if (mw_get(&mw_sampled))
		change(false, &exact);
}
