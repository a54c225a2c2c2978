/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample.h"

#include <sched.h>

#include "tracker/base/own_thread.h"
#include "tracker/base/quick.h"
#include "shared/sys/sys.h"
#include "tracker/caller/locate.h"
#include "tracker/caller/native_stack.h"
#include "tracker/caller/unwind.h"
#include "tracker/caller/ruby/ruby_stack.h"
#include "tracker/table/generation.h"
#include "tracker/table/record_of.h"
#include "tracker/table/row_lists.h"
#include "tracker/stacks/stacks.h"
#include "tracker/stacks/stacks_copy.h"
#include "tracker/table/sampled_blocks.h"
#include "tracker/table/tail.h"
#include "sampled.h"

enum {
	BUDGET = 333,       /* sampling may take one part of so many of the CPU time: 0.3 % */
	FIRSTS_BUDGET =
		100, /* the same of locations' first stacks, which come once: an app that starts has many */
	FIRSTS_FREE_NS = 5000000, /* these may take more */
	LOOK_AFTER = 128, /* samples until the cost is compared with that */
	LOOK_AFTER_NS = 1000000000,
	TOOK_MOST_NS = 200000, /* of a stack: in more, another thread ran on its CPU */
	TOOK_NS = 2000,
	FRAME_NS = 100, /* of a stack and of each frame, if the time is coarse */
	GAP_MOST_NS = 10000000, /* between two steps of a thread: in more, it waited */
	LOOKS = 16, /* for a location without a stack, until the budget is looked at, too */
	LOOK_LEAST = 4096, /* bytes between looks for locations without a stack */
	CHECK_MOST = 1 << 18, /* bytes until the fast lookup is compared again */
	LIVE_MOST = 8192, /* samples, while allocations are sampled: more would make frees dear */
	CHECK_EVERY = 16 /* samples, the same while allocations are sampled */
};

static uint64_t rate; /* relaxed; 0: off */
static bool by_budget; /* relaxed */
static uint64_t began; /* of CLOCK_MONOTONIC at uptime 0 */
static uint64_t active; /* ns from step to step, of all threads; relaxed adds */
static uint64_t cpus = 1;
static uint64_t spent; /* ns; relaxed adds */
static uint64_t on_firsts; /* of these, on locations' first stacks: likewise */
static struct {
	uint32_t stacks; /* samples since then */
	uint64_t spent; /* ns on these */
	uint64_t at, active;
} looked; /* at the budget, last; with the lock of stacks.h */

/* Before the first thread, or with the lock of stacks.h. */
static void get_ready(void)
{
	static bool ready;
	cpu_set_t set;

	if (ready)
		return;
	mw_native_init();
	CPU_ZERO(&set);
	if (mw_sys(SYS_sched_getaffinity, 0, sizeof(set), mw_sys_ptr(&set), 0, 0) > 0)
		cpus = (uint64_t)CPU_COUNT(&set);
	ready = true;
}

void mw_sampling_start(uint64_t bytes, bool automatic, uint64_t loaded_at)
{
	mw_set(&by_budget, automatic);
	began = loaded_at;
	if (bytes)
		get_ready();
	mw_set(&rate, bytes);
}

void mw_sampling_change(uint64_t bytes, bool automatic)
{
	bool locked = mw_stacks_lock(); /* else a look at the budget could bring the old rate back */

	if (bytes)
		get_ready();
	mw_set(&by_budget, automatic);
	mw_set(&rate, bytes);
	if (locked)
		mw_stacks_unlock();
}

uint64_t mw_sampling_rate(void)
{
	return mw_get(&rate);
}

uint64_t mw_sampling_ns(void)
{
	return mw_get(&spent);
}

/* --- chance --------------------------------------------------------------------------- */

static uint64_t dice(struct mw_shard *t)
{
	if (!t->dice)
		t->dice = mw_mix((uint64_t)(uintptr_t)t ^ mw_quick_ns()) | 1;
	t->dice ^= t->dice << 13;
	t->dice ^= t->dice >> 7;
	t->dice ^= t->dice << 17;
	return t->dice;
}

/* -ln(u) of a u between 0 and 1, given as u * 2^64; right to a hundred thousandth. */
static double minus_ln(uint64_t u)
{
	int zeros = __builtin_clzll(u | 1);
	double m = (double)(u << zeros) / 9223372036854775808.0; /* 1 to 2 */
	double z = (m - 1) / (m + 1), z2 = z * z;

	return (zeros + 1) * 0.69314718055994531 - 2 * z * (1 + z2 * (1. / 3 + z2 * (1. / 5 + z2 / 7)));
}

/* The next sample's byte, counted from here; 1: the next one. */
static int64_t draw(struct mw_shard *t, uint64_t mean)
{
	return mean > 1 ? 1 + (int64_t)(minus_ln(dice(t)) * (double)mean) : 1;
}

/* --- a sample ------------------------------------------------------------------------- */

/* The record's ref of a block that was just admitted, and its location; 0: it has no record. */
MW_INLINE uint32_t ref_of(const void *p, uint32_t *id)
{
	size_t usable = mw_usable(p);
	uint32_t ref = mw_tail_read(p, usable);
	uint64_t where = mw_record_guess_where(mw_record_guess(ref));
	struct mw_record *r;

	if (mw_unlikely(!mw_record_is(where, p))) { /* it has no tail, or no record */
		ref = mw_ref_of(p, usable, &r);
		where = ref ? mw_get(&r->where) : 0;
	}
	*id = (uint32_t)where & MW_CS_MASK;
	return ref;
}

/*
 * The CPU time of the process, about, without the system call that tells it: threads run from step to step,
 * unless that takes long, and no more at once than there are CPUs.
 */
static void note_active(struct mw_shard *t)
{
	uint64_t at = mw_quick_ns(), gap = t->step_at ? at - t->step_at : 0;

	mw_add(&active, gap < GAP_MOST_NS ? gap : (uint64_t)GAP_MOST_NS);
	t->step_at = at;
}

/*
 * Twice the rate if sampling costs too much, half if it costs little. A thread that allocates little
 * is seldom here, so each second counts as much as LOOK_AFTER samples. With the lock of stacks.h.
 */
static void look_at_budget(uint64_t at)
{
	uint64_t ran, took, passed, most, is = mw_get(&rate);
	bool crowded;

	if (looked.stacks < LOOK_AFTER && at - looked.at < LOOK_AFTER_NS)
		return;
	ran = mw_get(&active);
	took = looked.spent * BUDGET;
	most = (at - looked.at) * cpus;
	passed = ran - looked.active < most ? ran - looked.active : most;
	looked.stacks = 0;
	looked.at = at;
	looked.spent = 0;
	looked.active = ran;
	crowded = mw_get(&mw_sampled) && mw_sampled_live() > LIVE_MOST;
	if ((took > passed || crowded) && is < MW_RATE_MOST)
		mw_set(&rate, is * 2);
	else if (took < passed / 4 && is > MW_RATE_LEAST && mw_sampled_live() < LIVE_MOST / 4)
		mw_set(&rate, is / 2);
}

static struct mw_walk walk; /* with the lock: a thread's stack may be small */

static uint32_t label_here(void)
{
	const struct mw_shard *t = mw_state();

	return t ? t->label : 0;
}

uint32_t mw_sample_stack(uint32_t id)
{
	uint32_t stack;

	if (!mw_get(&rate) || !mw_stacks_try())
		return 0;
	walk.n = 0;
	mw_ruby_walk(&walk);
	mw_walk_label(&walk, label_here());
	stack = mw_stack_hold(&walk, id);
	if (stack && mw_stack_lacks_text(stack, &walk))
		mw_ruby_name_frames();
	mw_stacks_unlock();
	return stack;
}

/* The stack that allocated a block with this record, at location id: a sample at this rate; 0: the location's first stack. */
static void keep_stack(uint32_t ref, uint32_t id, uint64_t mean)
{
	struct mw_sample_of of = { .ref = ref, .rate = mean };
	uint64_t at = mw_quick_ns(), took;

	if (!ref)
		return;
	if (!mw_stacks_try()) {
		mw_add(&mw_stacks_figures.dropped, 1);
		return;
	}
	of.now = at > began ? (uint32_t)((at - began) / 1000000000) : 0;
	walk.n = 0;
	mw_native_walk(&walk, mw_ruby_runs());
	mw_ruby_walk(&walk);
	mw_walk_label(&walk, label_here());
	if (mean)
		(void)mw_code_flag(of.ref);
	if (!mw_stacks_count(&walk, id, &of))
		mw_ruby_name_frames();
	took = mw_quick_coarse() ? TOOK_NS + (uint64_t)walk.n * FRAME_NS : mw_quick_ns() - at;
	took = took < TOOK_MOST_NS ? took : TOOK_MOST_NS;
	mw_add(&spent, took);
	if (mean) { /* a first stack comes once, whatever the rate */
		looked.spent += took;
		looked.stacks++;
	} else {
		mw_add(&on_firsts, took);
	}
	if (mw_get(&by_budget))
		look_at_budget(at);
	mw_stacks_unlock();
}

static bool may_take_first(void)
{
	uint64_t took = mw_get(&on_firsts);

	return !mw_get(&by_budget) || took < FIRSTS_FREE_NS || took < mw_get(&active) / FIRSTS_BUDGET;
}

/*
 * Gives the location at hand its first stack, if it has none. Each byte is as likely as any other to
 * be at hand, so such a stack is one of those that allocated most. A look that finds one is followed
 * by another soon: a program that has just begun is full of new locations.
 */
static void look_for_first(struct mw_shard *t, const void *p)
{
	uint32_t id, ref, every = t->look_every;

	/* the load may have fallen, so that samples are rare */
	if (mw_get(&by_budget) && ++t->looks % LOOKS == 0 && mw_get(&rate) > MW_RATE_LEAST &&
	    mw_stacks_try()) {
		look_at_budget(mw_quick_ns());
		mw_stacks_unlock();
	}
	ref = ref_of(p, &id);
	if (ref && may_take_first() && !mw_stacks_has(id)) {
		keep_stack(ref, id, 0);
		every /= 2;
	} else {
		every *= 2;
	}
	every = every < LOOK_LEAST ? LOOK_LEAST : every;
	t->look_every = every < MW_STEP ? every : MW_STEP;
}

static void check(struct mw_shard *t, int64_t bytes)
{
	t->to_check -= bytes;
	if (t->to_check > 0)
		return;
	t->check_every = t->check_every ? t->check_every * 2 : 1;
	if (t->check_every > CHECK_MOST)
		t->check_every = CHECK_MOST;
	t->to_check = t->check_every;
	mw_locate_check(t);
}

static void draw_anew(struct mw_shard *t, uint64_t mean)
{
	t->rate = mean;
	t->to_sample = draw(t, mean);
}

/* So many bytes were allocated. True: the next sample was among them. */
static bool count_down(struct mw_shard *t, int64_t bytes, uint64_t mean)
{
	if (!t->to_sample)
		draw_anew(t, mean);
	t->to_sample -= bytes;
	return t->to_sample <= 0;
}

/* After that: the next sample is drawn if this one was due, or if the rate has changed. */
static void draw_if(struct mw_shard *t, uint64_t mean)
{
	if (t->to_sample <= 0 || t->rate != mean)
		draw_anew(t, mean);
}

/*
 * The clock's step that just began ends at the thread's next sample, or has a random length: else a loop that allocates
 * so many bytes would end all steps in the same block. The clock is behind by the rest until its end.
 */
static void shorten(struct mw_shard *t, uint64_t mean)
{
	uint32_t by = (uint32_t)(dice(t) >> 32) % MW_CLOCK_STEP;

	if (!t->to_sample)
		draw_anew(t, mean);
	if (t->to_sample < (int64_t)(MW_CLOCK_STEP - by))
		by = (uint32_t)(MW_CLOCK_STEP - t->to_sample);
	t->clock_due += by;
	mw_add(&mw_clock_bytes, -(uint64_t)by);
	t->step_size = by;
}

/*
 * Is the block at p a sample, at the end of so many bytes? If the rate has changed, the rest up to the
 * next sample is drawn anew: chance has no memory.
 */
static void choose_sample(struct mw_shard *t, const void *p, int64_t bytes, uint64_t mean)
{
	uint32_t id, ref;

	if (count_down(t, bytes, mean)) {
		ref = ref_of(p, &id);
		keep_stack(ref, id, t->rate);
	} else {
		look_for_first(t, p);
	}
	draw_if(t, mean);
}

/* --- while allocations are sampled: sampled.h ------------------------------------------------ */

bool mw_sample_due(struct mw_shard *t, uint64_t bytes, uint64_t mean)
{
	if (mw_get(&by_budget))
		note_active(t);
	return count_down(t, (int64_t)bytes, mean);
}

uint64_t mw_sample_next(struct mw_shard *t, uint64_t mean)
{
	draw_if(t, mean);
	return (uint64_t)(t->to_sample < MW_STEP ? t->to_sample : MW_STEP);
}

/* From 0 to less than 1. */
static double chance(struct mw_shard *t)
{
	return (double)(dice(t) >> 11) / 9007199254740992.0; /* 2 to the power of 53 */
}

uint32_t mw_sample_rounded(struct mw_shard *t, double weight)
{
	return weight < UINT32_MAX - 1 ? (uint32_t)(weight + chance(t)) : UINT32_MAX;
}

uint32_t mw_sample_stands_for(struct mw_shard *t, uint64_t n)
{
	return mw_sample_rounded(t, mw_sample_weight(n, t->rate));
}

uint32_t mw_sample_by_chance(struct mw_shard *t, uint64_t n, uint64_t mean)
{
	double weight = mw_sample_weight(n, mean);

	return chance(t) * weight < 1 ? mw_sample_rounded(t, weight) : 0;
}

void mw_sample_keep(struct mw_shard *t, uint32_t ref, uint32_t id)
{
	if (!mw_get(&rate))
		return;
	if (++t->looks % CHECK_EVERY == 0)
		mw_locate_check(t);
	keep_stack(ref, id, t->rate);
}

void mw_sample_step(struct mw_shard *t, const void *p)
{
	uint64_t mean = mw_get(&rate);
	int64_t bytes, next = MW_STEP;

	if (mw_clock.in_bytes) {
		bytes = t->clock_due + MW_CLOCK_STEP - t->step_size;
		mw_generation_settle(t);
	} else {
		bytes = (int64_t)t->step_size - t->step;
		check(t, bytes);
		next = t->to_check < next ? t->to_check : next;
	}
	if (mean) {
		if (mw_get(&by_budget))
			note_active(t);
		choose_sample(t, p, bytes, mean);
		next = t->to_sample < next ? t->to_sample : next;
		next = t->look_every && t->look_every < next ? t->look_every : next;
	}
	if (mw_clock.in_bytes) {
		if (mean)
			shorten(t, mean);
		return;
	}
	/* it ends with the byte after these */
	t->step = (int32_t)next - 1;
	t->step_size = (uint32_t)next - 1;
}

void mw_sampling_begin(struct mw_shard *t)
{
	if (!mw_clock.in_bytes)
		return;
	t->step_size = 0;
	/* a thread of ours counts nothing, so the clock would only go back */
	if (mw_get(&rate) && !mw_own_thread_here)
		shorten(t, mw_get(&rate));
}

void mw_sample_closes(uintptr_t start, uint64_t bytes)
{
	mw_stacks_name_library(start, bytes);
	mw_stacks_forget_library(start, bytes);
}

void mw_sample_closed(uintptr_t start, uint64_t bytes)
{
	mw_stacks_forget_library(start, bytes);
}

void mw_sample_closing(void)
{
	mw_unwind_forget();
}

void mw_sampling_after_fork(struct mw_shard *t)
{
	looked.spent = 0;
	looked.active = mw_get(&active);
	if (!t)
		return;
	t->dice = 0;
	t->to_sample = 0;
	t->unsampled = t->unsampled_from = 0;
	if (mw_clock.in_bytes)
		return;
	t->step = 0; /* the parent's allocations count for no sample here */
	t->step_size = 0;
}
