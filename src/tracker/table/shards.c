/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shards.c - the shards of all threads: their memory, adoption, and the way back; see shard.h.
 *
 * A shard has address space for tables of MW_SLOTS and MW_CALLERS places. A thread that allocates at
 * few lines touches one page of it; the tables grow into the rest. When the thread ends, the shard stays
 * as it is, up to KEPT of them: threads that come and go cost no more than before. The memory of any
 * other is given back.
 *
 * Entries lie apart from the shards, which are gone then, and side by side, since readers visit all.
 */
#include "shard.h"

#include "shared/sys/sys.h"
#include "shared/sys/thread_pointer.h"

enum {
	KEPT = 16, /* shards that stay as they are, for the next threads */
	PAGE_LEAST = 4096,
	BEFORE = MW_SLOTS * MW_ENTRY + MW_FEW_SLOTS * MW_ENTRY, /* bytes of the memory before the shard */
	SIZE = BEFORE + (int)sizeof(struct mw_shard),
	SIDE_BY_SIDE = 14, /* shards mapped at once, at most: less than a huge page */
	ROW = 256, /* entries in a page */
	ROWS = 1024
};
_Static_assert((SIZE + PAGE_LEAST) * SIDE_BY_SIDE < 2 << 20, "no huge page");

/*
 * FREE: it has memory, and perhaps counts. GIVEN: it has neither, and is all zeros. CHANGING: one thread makes
 * it one of the others; it has no counts.
 */
enum status { NONE, LIVE, FREE, CHANGING, GIVEN };
struct mw_shard_entry {
	struct mw_shard *shard; /* NULL: not there yet */
	uint32_t status; /* acquire; release, or compare-and-swap by the thread that takes it */
	uint32_t check_every; /* as in the shard; its own thread */
	uintptr_t thread; /* its thread's pointer; 0: it has no thread. Relaxed */
};

static struct mw_shard_entry first[ROW];
static struct mw_shard_entry *rows[ROWS] = { first }; /* each changes once: release */
static uint32_t entries; /* release; more than there are, if there was no memory */
static uint32_t kept, given; /* relaxed: of FREE and GIVEN, at least as many at any moment */
bool mw_shards_full;

static struct mw_shard_entry *entry_at(uint32_t i)
{
	struct mw_shard_entry *row =
		i / ROW < ROWS ? __atomic_load_n(&rows[i / ROW], __ATOMIC_ACQUIRE) : NULL;

	return row ? &row[i % ROW] : NULL;
}

struct mw_shard *mw_shard_next(uint32_t *i)
{
	while (*i < __atomic_load_n(&entries, __ATOMIC_ACQUIRE)) {
		const struct mw_shard_entry *e = entry_at((*i)++);
		uint32_t status = e ? __atomic_load_n(&e->status, __ATOMIC_ACQUIRE) : NONE;

		if (status == LIVE || status == FREE)
			return e->shard;
	}
	return NULL;
}

size_t mw_shard_threads(uintptr_t *v, size_t max)
{
	uint32_t end = __atomic_load_n(&entries, __ATOMIC_ACQUIRE);
	size_t n = 0;

	for (uint32_t i = 0; i < end && n < max; i++) {
		const struct mw_shard_entry *e = entry_at(i);

		if (e && (v[n] = mw_get(&e->thread)))
			n++;
	}
	return n;
}

/* --- memory ----------------------------------------------------------------------------- */

/* In whole pages: their contents are given back, and a neighbour's aren't. */
static size_t whole_pages(size_t bytes)
{
	size_t page = mw_page_size();

	return (bytes + page - 1) & -page;
}

/* Bytes of a shard with so many slots and callers. */
static size_t bytes_of(size_t slots, size_t callers)
{
	size_t page = mw_page_size();

	return whole_pages((slots - MW_FEW_SLOTS) * MW_ENTRY) +
	       whole_pages(BEFORE % page + offsetof(struct mw_shard, callers) + callers * MW_ENTRY) +
	       (callers > MW_FEW_CALLERS ? page : 0);
}

static size_t slots_of(const struct mw_shard *t)
{
	return (size_t)-t->slots_from / MW_ENTRY;
}

static size_t callers_of(const struct mw_shard *t)
{
	return t->caller_mask / MW_ENTRY + 1;
}

static bool may_grow(const struct mw_shard *t, size_t slots, size_t callers)
{
	return mw_arena_take(bytes_of(slots, callers) - bytes_of(slots_of(t), callers_of(t)),
			     MW_ARENA_THREAD);
}

bool mw_slots_widen(struct mw_shard *t)
{
	size_t n = slots_of(t);

	if (++t->slot_evictions < MW_CROWDED || n == MW_SLOTS)
		return false;
	t->slot_evictions = 0;
	if (!may_grow(t, n * 2, callers_of(t)))
		return false;
	mw_set(&t->slots_from, t->slots_from * 2);
	return true;
}

bool mw_callers_widen(struct mw_shard *t)
{
	size_t n = callers_of(t);

	if (++t->caller_evictions < MW_CROWDED || n == MW_CALLERS)
		return false;
	t->caller_evictions = 0;
	if (!may_grow(t, slots_of(t), n * 2))
		return false;
	mw_set(&t->caller_mask, t->caller_mask * 2 + MW_ENTRY);
	return true;
}

static struct mw_shard *shard_in(uintptr_t memory)
{
	return (struct mw_shard *)(memory + BEFORE);
}

/* Memory for one more, or NULL. */
static struct mw_shard *memory_take(void)
{
	static uint64_t next; /* relaxed: address of memory not used yet | for so many */
	uint64_t is = mw_get(&next), n;
	const size_t size = whole_pages(SIZE);
	void *p;

	do {
		while (is % PAGE_LEAST) {
			if (__atomic_compare_exchange_n(&next, &is, is + size - 1, true,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
				return shard_in(is / PAGE_LEAST * PAGE_LEAST);
		}
		n = mw_get(&entries) < SIDE_BY_SIDE ? mw_get(&entries) + 1 : SIDE_BY_SIDE;
		p = mw_arena_sparse(n * size);
		if (!p && n > 1) /* the process may have little address space */
			p = mw_arena_sparse((n = 1) * size);
		if (!p)
			return NULL;
		if (__atomic_compare_exchange_n(&next, &is, ((uintptr_t)p + size) | (n - 1), false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return shard_in((uintptr_t)p);
		mw_arena_unsparse(p, n * size); /* another thread was first */
	} while (true);
}

/* --- entries ---------------------------------------------------------------------------- */

static bool row_ready(uint32_t row)
{
	struct mw_shard_entry *none = NULL, *p;

	if (row >= ROWS || __atomic_load_n(&rows[row], __ATOMIC_ACQUIRE))
		return row < ROWS;
	p = mw_arena_grow(ROW * sizeof(*p), MW_ARENA_THREAD);
	if (p &&
	    !__atomic_compare_exchange_n(&rows[row], &none, p, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		mw_arena_unmap(p, ROW * sizeof(*p), MW_ARENA_THREAD); /* another thread was first */
	return p || __atomic_load_n(&rows[row], __ATOMIC_ACQUIRE);
}

/* An entry with a new shard, to which it isn't known yet; NULL: no memory. */
static struct mw_shard_entry *entry_new(void)
{
	struct mw_shard *t = memory_take();
	struct mw_shard_entry *e;
	uint32_t i;

	if (!t)
		return NULL;
	i = __atomic_fetch_add(&entries, 1, __ATOMIC_ACQ_REL);
	if (!row_ready(i / ROW))
		return NULL; /* address space is lost, but no memory */
	e = entry_at(i);
	e->shard = t;
	return e;
}

/* An entry of that status, which is `to` from here on; NULL: none. */
static struct mw_shard_entry *entry_take(enum status is, uint32_t *count, enum status to)
{
	for (uint32_t i = 0; mw_get(count) && i < __atomic_load_n(&entries, __ATOMIC_ACQUIRE); i++) {
		struct mw_shard_entry *e = entry_at(i);
		uint32_t was = is;

		if (!e || mw_get(&e->status) != is)
			continue;
		if (__atomic_compare_exchange_n(&e->status, &was, to, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			mw_add(count, (uint32_t)-1);
			return e;
		}
	}
	return NULL;
}

static void entry_leave(struct mw_shard_entry *e, enum status status, uint32_t *count)
{
	mw_add(count, 1);
	__atomic_store_n(&e->status, status, __ATOMIC_RELEASE);
}

/* --- adoption, and back ----------------------------------------------------------------- */

/* An entry whose shard is all zeros, made ready; NULL: no memory. */
static struct mw_shard_entry *begin_shard(void)
{
	struct mw_shard_entry *e = entry_take(GIVEN, &given, CHANGING);
	struct mw_shard *t;

	if (!e)
		e = entry_new();
	if (!e)
		return NULL;
	t = e->shard;
	mw_assert(!t->known && !t->slots_from && !t->spare && !t->callers[0].id); /* all zeros */
	t->entry = e;
	t->check_every = e->check_every;
	t->to_check = e->check_every;
	mw_set(&t->caller_mask, (MW_FEW_CALLERS - 1) * MW_ENTRY);
	mw_set(&t->slots_from, -MW_FEW_SLOTS * MW_ENTRY);
	mw_set(&t->known, MW_PERMIT_EPOCH); /* an old one: begin_thread takes the present one up, if it may */
	mw_set(&t->permit, t->known);
	__atomic_store_n(&e->status, LIVE, __ATOMIC_RELEASE);
	return e;
}

struct mw_shard *mw_shard_adopt(void)
{
	struct mw_shard_entry *e = entry_take(FREE, &kept, LIVE);
	size_t bytes = bytes_of(MW_FEW_SLOTS, MW_FEW_CALLERS);

	if (!e && mw_arena_take(bytes, MW_ARENA_THREAD)) {
		e = begin_shard();
		if (!e)
			mw_arena_give(bytes, MW_ARENA_THREAD);
	}
	if (!e) {
		mw_set(&mw_shards_full, true);
		return NULL;
	}
	mw_set(&e->thread, mw_thread_pointer());
	return e->shard;
}

void mw_shard_release(struct mw_shard *t)
{
	mw_assert(t->entry->shard == t);
	mw_set(&t->entry->thread, 0);
	mw_set(&t->quiet, 0);
	t->hushed = false;
	t->label = 0;
	mw_set(&t->permit, t->known);
	entry_leave(t->entry, FREE, &kept);
}

/* Nobody else's, without counts. If its memory can't be given back, another thread may adopt it. */
static void give_shard_back(struct mw_shard *t)
{
	struct mw_shard_entry *e = t->entry;
	size_t bytes = bytes_of(slots_of(t), callers_of(t));

	mw_assert(mw_get(&e->status) == LIVE && !t->moving);
	mw_shard_give_records(t);
	e->check_every = t->check_every;
	mw_set(&e->thread, 0);
	__atomic_store_n(&e->status, CHANGING, __ATOMIC_RELEASE);
	if (!mw_arena_empty((char *)t - BEFORE, whole_pages(SIZE))) {
		mw_shard_release(t);
		return;
	}
	mw_arena_give(bytes, MW_ARENA_THREAD);
	entry_leave(e, GIVEN, &given);
}

static bool enough(const struct mw_shard *t)
{
	return mw_get(&kept) >= KEPT && !t->lane.parts; /* else its events are being written */
}

void mw_shard_end(struct mw_shard *t)
{
	const struct mw_guard in = mw_enter(t); /* a signal handler's calls count elsewhere from here on */
	bool gives = enough(in.t) && mw_shard_flush(t, t); /* before mw_self changes: see is_moving */

	mw_self = MW_LATE;
	mw_arena_hide();
	if (gives)
		give_shard_back(t);
	else
		mw_shard_release(t);
}

void mw_shards_trim(void)
{
	struct mw_shard *t = mw_state();

	for (uint32_t i = 0; t && mw_get(&kept) > KEPT && i < mw_get(&entries); i++) {
		struct mw_shard_entry *e = entry_at(i);
		uint32_t is = FREE;

		if (!e || mw_get(&e->status) != FREE ||
		    !__atomic_compare_exchange_n(&e->status, &is, LIVE, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		mw_add(&kept, (uint32_t)-1);
		if (enough(e->shard) && mw_shard_flush(t, e->shard))
			give_shard_back(e->shard);
		else
			mw_shard_release(e->shard);
	}
}

/* Of a thread that doesn't exist in this child. */
static void let_go_of_shard(struct mw_shard *t)
{
	/* the fork caught it inside: its lists may be half changed. They are given up, 16,640 records at
	   the very most */
	if (t->permit == MW_PERMIT_BUSY)
		mw_shard_forget_records(t);
	/* its thread may have been about to find the gate closed: don't wait for it */
	t->moving = 0;
	mw_shard_release(t);
}

void mw_shards_after_fork(struct mw_shard *self)
{
	mw_gate_after_fork();
	kept = given = 0;
	for (uint32_t i = 0; i < entries; i++) {
		struct mw_shard_entry *e = entry_at(i);

		if (!e || e->shard == self || e->status == NONE)
			continue;
		if (e->status == LIVE || e->status == FREE)
			let_go_of_shard(e->shard);
		else if (e->status == GIVEN || mw_arena_empty((char *)e->shard - BEFORE, whole_pages(SIZE)))
			entry_leave(e, GIVEN, &given);
	}
}
