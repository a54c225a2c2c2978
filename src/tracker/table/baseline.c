/* SPDX-License-Identifier: GPL-2.0-or-later */
/* baseline.c - the counts since the last reset, fork or change of tenant; see snapshot.h. */
#include "fork_baseline.h"
#include "object_sums.h"
#include "faults.h"
#include "peak.h"
#include "snapshot.h"

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
static bool resetting; /* under mw_rebasing_lock */

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
		*chunk = mw_arena_map_aside(sizeof(**chunk), MW_ARENA_LOCATION);
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
	struct mw_flushed *sum = mw_flushed(into);
	struct mw_flushed_frees *frees;
	struct base b, to;
	/* freed since the reset, but allocated before it: `into` gets no live blocks by the fold */
	uint64_t bytes, calls;

	if (!base_for(id, &b) || !base_for(into, &to))
		return false;
	bytes = (s->c.freed - b.c->freed) - (s->c.bytes - b.c->bytes);
	calls = (s->c.frees - b.c->frees) - (s->c.allocs - b.c->allocs);
	mw_fork_baseline_fold(id, b.c, into, to.c,
			      &(struct mw_counters){ .bytes = bytes, .allocs = calls });
	frees = mw_flushed_frees_taken(into);
	mw_add(&frees->freed, s->c.freed - b.c->freed);
	mw_add(&frees->frees, s->c.frees - b.c->frees);
	mw_add(&sum->bytes, s->c.bytes - b.c->bytes + bytes);
	mw_add(&sum->allocs, s->c.allocs - b.c->allocs + calls);
	mw_add(&frees->life_sum, s->c.life_sum - b.c->life_sum);
	to.c->bytes += bytes;
	to.c->allocs += calls;
	*to.live += *b.live;
	if (s->life_max)
		mw_life_max_raise(into, mw_epoch(), s->life_max);
	*b.c = s->c;
	*b.live = 0;
	mw_peak_fold(id, into);
	return true;
}

enum rebase { FROM_ZERO, FROM_FORK, FROM_FAMILY_FORK };

static void rebase(enum rebase from)
{
	struct mw_sum *sums;
	uint32_t end, id;

	mw_peak_forget(from != FROM_ZERO);
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
		} else if (from == FROM_FAMILY_FORK) {
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
	(void)mw_calls_left(MW_CALLS_MS);
	rebase(FROM_ZERO);
	resetting = false;
	mw_rebasing_unlock();
}

void mw_reading_after_fork(bool held)
{
	if (mw_reading_lock_after_fork() && !held && resetting)
		mw_reset();
}

struct mw_counters mw_before_reset(void)
{
	return before;
}

void mw_growth_from_here(bool family)
{
	mw_rebasing_lock();
	rebase(family ? FROM_FAMILY_FORK : FROM_FORK);
	mw_rebasing_unlock();
}

bool mw_row_count(struct mw_row *r, uint32_t id, const struct mw_sum *s)
{
	static const struct mw_counters zero;
	const struct bases *chunk = bases[id / MW_CS_CHUNK];
	const struct mw_counters *since = chunk ? &chunk->c[id % MW_CS_CHUNK] : &zero;
	const struct mw_overruns *o = mw_overruns_at(id);
	int64_t live = (int64_t)(s->c.allocs - s->c.frees), bytes = live_bytes(s);
	const struct mw_counters inherited = mw_fork_baseline_part(id, since);

	r->total += s->c.bytes - since->bytes;
	r->allocations += s->c.allocs - since->allocs;
	r->freed += s->c.freed - since->freed;
	r->frees += s->c.frees - since->frees;
	r->life_sum += (s->c.life_sum - since->life_sum) * mw_life_scale;
	if (s->life_max * mw_life_scale > r->life_max)
		r->life_max = s->life_max * mw_life_scale;
	r->fork_baseline.total += inherited.bytes;
	r->fork_baseline.allocations += inherited.allocs;
	r->fork_baseline.freed += inherited.freed;
	r->fork_baseline.frees += inherited.frees;
	r->fork_baseline.life_sum += inherited.life_sum * mw_life_scale;
	r->growth += bytes - (chunk ? chunk->live[id % MW_CS_CHUNK] : 0);
	/* a writer may be between two counters: the difference may be negative, and shows as 0 */
	r->live += live > 0 ? (uint64_t)live : 0;
	r->live_bytes += bytes > 0 ? (uint64_t)bytes : 0;
	r->peak_bytes += mw_peak_at(id);
	r->live_samples += s->samples;
	r->live_variance += s->variance;
	if (o) {
		r->overruns += __atomic_load_n(&o->count, __ATOMIC_ACQUIRE);
		r->overrun_size = mw_get(&o->last_size);
		r->wrong_sizes += __atomic_load_n(&o->wrong_sizes, __ATOMIC_ACQUIRE);
		r->asked_size = mw_get(&o->asked);
		r->given_size = mw_get(&o->given);
	}
	return mw_objects_add(r, id) || r->allocations || r->frees || r->live || r->peak_bytes || o;
}
