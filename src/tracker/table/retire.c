/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * retire.c - makes room in the table of locations, by sweeps.
 *
 * An app that evals for weeks makes new locations for ever. Sweeps begin when the table is more
 * than half full. From three quarters on, a sweep retires a location that has nothing live and
 * allocated nothing since the last sweep: folds it into "(gone)", and frees its id.
 *
 * Any thread may have an id in its caller cache, and a call under way may use it. So:
 *  (1) the chosen locations leave the hash table;
 *  (2) every cached caller becomes stale;
 *  (3) every thread that was inside the tracker leaves it. A reset calls membarrier(2) first, as threads
 *      enter by plain stores. A sweep is on the way of an allocation, where a sandbox may not allow that.
 *      It waits for SEEN_MS instead: no processor keeps a store to itself for so long;
 *  (4) a grace period passes for readers;
 *  (5) locations used meanwhile go back;
 *  (6) the others are folded, under the baselines' lock, so each count is seen once.
 *
 * The app's threads do this work: each does one step when it looks up a new location, and no
 * step waits. A step is put off while a thread is inside the tracker, or a reader reads. If that
 * lasts for a second, the sweep is given up: locations that left the table go back. A step looks
 * at 1,024 locations and at each shard's counters, or moves 128 locations. Between two steps the
 * tables are whole: fork comes there.
 */
#include <linux/membarrier.h>
#include <sched.h>

#include "tracker/base/quick.h"
#include "shared/sys/sys.h"
#include "faults.h"
#include "snapshot.h"
#include "shard.h"
#include "caller_cache.h"
#include "mappings.h"
#include "object_sums.h"

enum {
	PATIENCE_MS = 1000,   /* a sweep's, for threads and readers */
	SEEN_MS = 5,          /* until a store is certainly seen: processors take far less than one */
	STEP = MW_CS_CHUNK,   /* locations in a step that looks at them */
	MOVES = 128           /* in a step that takes them out of the table, or puts them back */
};

/* Under mw_maintenance. */
enum stage { REST, CHOOSE, SPARE, UNLINK, CALLS, GRACE, BURY, SPARE_LATE, FOLD, BACK };
/* mw_callsite.leaving; RETURNS: it left the table, and must go back */
enum leaving { STAYS, LEAVES, RETURNS };

static struct {
	enum stage stage; /* relaxed: mw_retire_under_way */
	uint32_t next, end; /* locations: the next one of this stage; one past the last */
	bool now; /* it retires; else it only looks */
	long until; /* ms: then the sweep is given up */
	long seen; /* CALLS, ms: what threads stored before it is seen then */
	uint32_t inside; /* CALLS: the number of the first shard that may still be inside */
	struct mw_path *dead; /* paths to be freed after the grace period */
} sweep;

static bool barrier(void)
{
	static bool registered; /* relaxed: registering twice does no harm */

	if (!mw_get(&registered) &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
		mw_set(&registered, true);
	return mw_get(&registered) && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static long ms_now(void)
{
	return (long)mw_quick_ms();
}

/* From number *i on: true if no shard but the caller's is inside; else *i is the first that is. */
static bool no_shard_inside(uint32_t *i)
{
	const struct mw_shard *t;

	for (uint32_t next = *i; (t = mw_shard_next(&next)) != NULL; *i = next)
		if (t != mw_self && __atomic_load_n(&t->permit, __ATOMIC_ACQUIRE) == MW_PERMIT_BUSY)
			return false;
	return true;
}

static bool none_inside(uint32_t *i)
{
	return no_shard_inside(i) && !mw_late_any();
}

static bool left(bool (*inside)(uint32_t *i), long ms)
{
	long until = ms_now() + ms;
	uint32_t i = 0;

	if (!barrier())
		return false;
	while (!inside(&i)) {
		if (ms_now() > until)
			return false;
		sched_yield();
	}
	return true;
}

bool mw_calls_left(long ms)
{
	return left(none_inside, ms);
}

bool mw_permits_left(long ms)
{
	return left(no_shard_inside, ms);
}

static bool idle(uint32_t id, const struct mw_sum *s)
{
	const struct mw_callsite *c = mw_callsite(id);
	uint8_t kind = mw_get(&c->kind);

	return (kind == MW_CS_RUBY || kind == MW_CS_NATIVE || kind == MW_CS_PENDING) &&
	       s->c.allocs == s->c.frees && mw_get(&c->seen) == (uint32_t)s->c.allocs &&
	       !mw_overruns_at(id) && /* its faults are shown for ever */
	       !mw_objects_held(id) && /* objects that were made there live */
	       !mw_mappings_of(id); /* the memory map shows it */
}

static struct mw_sum sums[STEP]; /* of a step's locations: the stack may be too small for them */

/* --- a step of each stage, from `from` to before `to`; false: to be tried again ---------- */

static bool choose_leaving(uint32_t from, uint32_t to)
{
	if (!mw_sums_between(sums, from, to))
		return false;
	for (uint32_t id = from; id < to; id++) {
		struct mw_callsite *c = mw_callsite(id);
		const struct mw_sum *s = &sums[id - from];

		c->leaving = STAYS;
		if (sweep.now && idle(id, s))
			c->leaving = LEAVES;
		else
			mw_set(&c->seen, (uint32_t)s->c.allocs);
	}
	return true;
}

/* An id with aliases must stay: they would point to another tenant. */
static bool spare(uint32_t from, uint32_t to)
{
	for (uint32_t id = from; id < to; id++) {
		uint32_t target = __atomic_load_n(&mw_callsite(id)->alias, __ATOMIC_ACQUIRE);

		/* an alias made meanwhile may be of a location newer than the sweep */
		if (target && target < sweep.end && mw_get(&mw_callsite(id)->kind) != MW_CS_FREE &&
		    mw_callsite(target)->leaving)
			mw_callsite(target)->leaving = sweep.stage == SPARE ? STAYS : RETURNS;
	}
	return true;
}

static bool unlink_some(uint32_t from, uint32_t to)
{
	for (uint32_t id = from; id < to; id++)
		if (mw_callsite(id)->leaving)
			mw_callsite_unlink(id);
	return true;
}

static void back(uint32_t id)
{
	struct mw_callsite *c = mw_callsite(id);
	uint32_t is;

	c->leaving = STAYS;
	if (mw_get(&c->alias) || !cds_lfht_is_node_deleted(&c->node))
		return; /* it was never in the table, or never left it */
	is = mw_callsite_relink(id);
	if (is != id)
		__atomic_store_n(&c->alias, is, __ATOMIC_RELEASE);
}

static bool back_some(uint32_t from, uint32_t to)
{
	for (uint32_t id = from; id < to; id++)
		if (mw_callsite(id)->leaving)
			back(id);
	return true;
}

/* Under the baselines' lock. False: it must go back. */
static bool fold(uint32_t id, const struct mw_sum *s)
{
	struct mw_callsite *c = mw_callsite(id);
	uint32_t to = mw_get(&c->alias);

	if (c->leaving != LEAVES || !idle(id, s) ||
	    !mw_base_fold(id, to ? mw_callsite_real(to) : (uint32_t)MW_CS_GONE, s))
		return false;
	__atomic_store_n(&c->alias, 0, __ATOMIC_RELEASE);
	mw_set(&c->since, mw_epoch());
	mw_set(&c->has_stack, 0);
	c->leaving = STAYS;
	mw_callsite_release(id);
	mw_add(&mw_retired, 1);
	return true;
}

static bool fold_some(uint32_t from, uint32_t to)
{
	bool had;

	if (!mw_rebasing_try())
		return false;
	if (from == MW_CS_FIRST)
		mw_epoch_next(); /* the old tenants' maxima are older than the new tenants */
	had = mw_sums_between(sums, from, to);
	for (uint32_t id = from; had && id < to; id++)
		if (mw_callsite(id)->leaving && !fold(id, &sums[id - from]))
			back(id);
	mw_rebasing_unlock();
	return had;
}

/* --- the sweep ------------------------------------------------------------------------ */

static void be_patient(void)
{
	sweep.until = ms_now() + PATIENCE_MS;
}

static void go_to(enum stage stage)
{
	mw_set(&sweep.stage, stage);
	sweep.next = MW_CS_FIRST;
	be_patient();
	if (stage == REST || stage == BACK) {
		/* no grace period ended: the paths wait for the next */
		mw_paths_dead_again(sweep.dead);
		sweep.dead = NULL;
	}
}

static bool out_of_patience(void)
{
	if (ms_now() <= sweep.until)
		return false;
	go_to(BACK);
	return true;
}

/* A step of n locations, at most STEP, of a stage that goes through all; then stage `then`. */
static void through(bool (*step)(uint32_t from, uint32_t to), uint32_t n, enum stage then)
{
	uint32_t to = sweep.next + n - sweep.next % n;

	if (to > sweep.end)
		to = sweep.end;
	if (!step(sweep.next, to)) {
		(void)out_of_patience();
		return;
	}
	be_patient();
	sweep.next = to;
	if (to == sweep.end)
		go_to(then);
}

static void begin_to_wait(void)
{
	mw_caller_forget_all();
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* caches are seen to be stale before that time begins */
	sweep.inside = 0;
	sweep.seen = ms_now() + SEEN_MS;
}

/* Frees the paths that died before the sweep, STEP of them in a step. */
static void bury(void)
{
	sweep.dead = mw_paths_free(sweep.dead, STEP);
	if (!sweep.dead)
		go_to(SPARE_LATE);
}

bool mw_retire_step(void)
{
	mw_assert(mw_maintenance_mine() && sweep.next <= sweep.end);
	switch (sweep.stage) {
	case REST:
		break;
	case CHOOSE:
		through(choose_leaving, STEP, sweep.now ? SPARE : REST);
		break;
	case SPARE:
		through(spare, STEP, UNLINK);
		break;
	case UNLINK:
		through(unlink_some, MOVES, CALLS);
		if (sweep.stage == CALLS)
			begin_to_wait();
		break;
	case CALLS:
		if (ms_now() >= sweep.seen && none_inside(&sweep.inside)) {
			mw_grace_begin();
			go_to(GRACE);
		} else {
			(void)out_of_patience();
		}
		break;
	case GRACE:
		if (mw_grace_over())
			go_to(BURY);
		else
			(void)out_of_patience();
		break;
	case BURY:
		bury();
		break;
	case SPARE_LATE:
		through(spare, STEP, FOLD);
		break;
	case FOLD:
		through(fold_some, STEP, REST);
		break;
	case BACK:
		through(back_some, MOVES, REST);
		break;
	}
	return sweep.stage == REST;
}

void mw_retire_begin(bool now)
{
	if (sweep.stage != REST)
		return;
	sweep.end = mw_callsites_end();
	sweep.now = now;
	sweep.dead = now ? mw_paths_dead() : NULL;
	if (sweep.end > MW_CS_FIRST)
		mw_set(&sweep.stage, CHOOSE);
	sweep.next = MW_CS_FIRST;
}

bool mw_retire_under_way(void)
{
	return mw_get(&sweep.stage) != REST;
}

void mw_retire_give_up(void)
{
	if (sweep.stage == REST)
		return;
	/* the unfinished step may have unlinked some of them: they stay until the next sweep */
	for (uint32_t id = sweep.next;
	     sweep.stage == UNLINK && id < sweep.next + MOVES && id < sweep.end; id++)
		mw_callsite(id)->leaving = STAYS;
	go_to(BACK);
}
