/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample.h - chooses the allocations whose stacks are kept: by bytes, at random.
 *
 * Each byte is as likely as any other to make its block a sample (a Poisson process). A thread
 * counts bytes down to its next sample in steps of MW_STEP at most. At a step's end it also compares
 * the fast lookup with Ruby's own answer, now and then. So an allocation that isn't a step's end pays
 * one subtraction for both.
 *
 * Without Ruby the step is the clock's (tracker/table/generation.h), of 0 to MW_CLOCK_STEP bytes at random, and ends at
 * the next sample at the latest.
 *
 * The rate is the mean number of bytes from sample to sample. An automatic one doubles while sampling
 * takes more than its budget of the process's CPU time, about, and halves while it takes less than a quarter
 * of that, down to MW_RATE_LEAST.
 */
#pragma once

#include "tracker/table/shard.h"

enum { MW_STEP = 64 * 1024, MW_RATE_LEAST = 64 * 1024, MW_RATE_MOST = 1 << 30 };

/* Before the first thread; rate in bytes, 0: no sampling; automatic: it changes by the budget. */
void mw_sampling_start(uint64_t rate, bool automatic, uint64_t loaded_at);
/* The same later; any thread. A thread's own step ends first. */
void mw_sampling_change(uint64_t rate, bool automatic);
uint64_t mw_sampling_rate(void);
/* CPU time of sampling so far, in ns: relaxed. */
uint64_t mw_sampling_ns(void);

/* The step of t ended at the block p, which was admitted. t is busy. */
void mw_sample_step(struct mw_shard *t, const void *p);
/*
 * The callers of the Ruby code at location id that this thread runs, for a sample of an object that it makes: the stack's
 * number, which is held (stacks.h); 0: stacks are off, or it can't be kept now. Frames of Ruby's alone. The thread is busy.
 */
uint32_t mw_sample_stack(uint32_t id);
/*
 * While allocations are sampled (sampled.h). t is busy; mean: bytes from sample to sample.
 *  _due         so many bytes were allocated, the last of them with the block at hand. True: it is a sample
 *  _stands_for  the blocks of its n bytes that this one stands for: 1 at least, by chance so that the mean is right
 *  _by_chance   the same of any block, or 0 if it is to be no sample
 *  _rounded     a weight as a whole number, up or down by chance
 *  _keep        keeps its stack, if stacks are kept
 *  _next        how many bytes the thread may allocate before the next look
 */
bool mw_sample_due(struct mw_shard *t, uint64_t bytes, uint64_t mean);
uint32_t mw_sample_stands_for(struct mw_shard *t, uint64_t n);
uint32_t mw_sample_by_chance(struct mw_shard *t, uint64_t n, uint64_t mean);
uint32_t mw_sample_rounded(struct mw_shard *t, double weight);
void mw_sample_keep(struct mw_shard *t, uint32_t ref, uint32_t id);
uint64_t mw_sample_next(struct mw_shard *t, uint64_t mean);
/* A library is about to be closed: its frames get their names, and are no others' later. In quiet. */
void mw_sample_closes(uintptr_t start, uint64_t bytes);
/* It is closed, or wasn't its last user's: frames that came since then are no others' either. */
void mw_sample_closed(uintptr_t start, uint64_t bytes);
/* In between, once no thread keeps what it finds (tracker/table/closes.h). */
void mw_sample_closing(void);
/* A thread's first step: it adopted t, or made it. */
void mw_sampling_begin(struct mw_shard *t);
/* In a forked child: other samples than its parent's. t may be NULL. */
void mw_sampling_after_fork(struct mw_shard *t);
