/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fork_baseline.h"

/* Counters only go up: of a fork and a reset, the later one has the larger sums. */
static struct mw_counters *at_fork[MW_CS_MAX / MW_CS_CHUNK]; /* NULL: zeros */

static struct mw_counters *find_baseline(uint32_t id)
{
	struct mw_counters *chunk = at_fork[id / MW_CS_CHUNK];

	return chunk ? &chunk[id % MW_CS_CHUNK] : NULL;
}

void mw_fork_baseline_set(uint32_t id, const struct mw_counters *c)
{
	struct mw_counters **chunk = &at_fork[id / MW_CS_CHUNK];

	if (!*chunk)
		*chunk = mw_arena_grow(MW_CS_CHUNK * sizeof(**chunk), MW_ARENA_LOCATION);
	if (*chunk)
		(*chunk)[id % MW_CS_CHUNK] = *c;
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

struct mw_counters mw_fork_baseline_part(uint32_t id, const struct mw_counters *since)
{
	static const struct mw_counters none;
	const struct mw_counters *b = find_baseline(id);

	if (!b)
		return none;
	return (struct mw_counters){
		.bytes = beyond(b->bytes, since->bytes),
		.allocs = beyond(b->allocs, since->allocs),
		.freed = beyond(b->freed, since->freed),
		.frees = beyond(b->frees, since->frees),
		.life_sum = beyond(b->life_sum, since->life_sum),
	};
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void mw_fork_baseline_fold(uint32_t id, const struct mw_counters *from, uint32_t into,
			   const struct mw_counters *to, const struct mw_counters *more)
{
	struct mw_counters part = mw_fork_baseline_part(id, from);
	const struct mw_counters *was = find_baseline(into);
	struct mw_counters b = was ? *was : (struct mw_counters){ 0 };

	if (!was && !part.allocs && !part.frees)
		return;
	b.bytes = later(b.bytes, to->bytes) + part.bytes + more->bytes;
	b.allocs = later(b.allocs, to->allocs) + part.allocs + more->allocs;
	b.freed = later(b.freed, to->freed) + part.freed;
	b.frees = later(b.frees, to->frees) + part.frees;
	b.life_sum = later(b.life_sum, to->life_sum) + part.life_sum;
	mw_fork_baseline_set(into, &b);
}
