/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.c - buffers of a recording's events, from threads to the writer and back; see events.h. */
#include "events.h"

#include <sys/mman.h>

#include "tracker/base/arena.h"
#include "tracker/base/own_thread.h"
#include "shared/sys/sys.h"
#include "tracker/table/generation.h"

enum {
	EVENTS_WORDS = (MW_EVENTS_BUFFER - MW_EVENTS_HEAD) / 8,
	BUFFERS = 256,
	BUFFERS_LEAST = 16,
	WAIT_MS = 50,
	SPINS = 1000
};

struct mw_events {
	uint32_t next; /* in a stack: number of the buffer below, from 1 on; 0: none */
	uint32_t stream, part, lost;
	uint64_t *end;   /* behind its last event, once it is full */
	uint64_t *taken; /* behind the last one that the writer took. The writer's alone */
	char unused[MW_EVENTS_HEAD - 32];
	uint64_t words[EVENTS_WORDS];
};
_Static_assert(sizeof(struct mw_events) == MW_EVENTS_BUFFER, "a buffer");

bool mw_events_on, mw_events_fine;
uint32_t mw_events_clock, mw_events_turn;

static struct mw_events *pool; /* written before any event */
static uint32_t pool_size;
/* a tag << 32 | number of the first: the tag changes with each pop, so that a pop can't be fooled. Acq_rel */
static uint64_t free_ones;
static uint32_t full_ones; /* number of the last that became full; release */
static uint32_t streams; /* begun so far; relaxed */
static bool waits;
static bool stuck; /* a thread never left: the buffers are its for ever */
static uint64_t dropped; /* release; but for those that lanes count now */

static struct {
	uint32_t lock;
	struct mw_lane lane;
} common;

static struct mw_events *at(uint32_t number)
{
	return &pool[number - 1];
}
static uint32_t buffer_number(const struct mw_events *b)
{
	mw_assert(b >= pool && b < pool + pool_size && (uintptr_t)b % MW_EVENTS_BUFFER == 0);
	return (uint32_t)(b - pool) + 1;
}
/* next: behind an event, or the first event's place. A full buffer's is where another buffer begins. */
static struct mw_events *buffer_of(const uint64_t *next)
{
	return (struct mw_events *)(((uintptr_t)next - 1) & ~(uintptr_t)(MW_EVENTS_BUFFER - 1));
}

static void push_free(struct mw_events *b)
{
	uint64_t is = mw_get(&free_ones), then;

	do {
		mw_set(&b->next, (uint32_t)is);
		then = (is & ~(uint64_t)UINT32_MAX) | buffer_number(b);
	} while (!__atomic_compare_exchange_n(&free_ones, &is, then, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static struct mw_events *pop_free(void)
{
	uint64_t is = __atomic_load_n(&free_ones, __ATOMIC_ACQUIRE), then;

	do {
		if (!(uint32_t)is)
			return NULL;
		then = ((is >> 32) + 1) << 32 | mw_get(&at((uint32_t)is)->next);
	} while (!__atomic_compare_exchange_n(&free_ones, &is, then, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return at((uint32_t)is);
}

static void push_full(struct mw_events *b)
{
	uint32_t is = mw_get(&full_ones);

	do {
		b->next = is;
	} while (!__atomic_compare_exchange_n(&full_ones, &is, buffer_number(b), true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

uint32_t mw_events_next_turn(uint32_t stream)
{
	uint32_t now = (uint32_t)mw_events_counter(), was = mw_get(&mw_events_clock);

	if ((int32_t)(now - was) <= 0)
		now = was + 1;
	mw_set(&mw_events_turn, stream);
	mw_set(&mw_events_clock, now);
	return now;
}

/* Off the fast way. */
static uint32_t time_now(const struct mw_lane *l)
{
	return mw_events_now(l, !mw_clock.in_bytes);
}

static uint32_t thread_now(void)
{
	return (uint32_t)mw_sys(SYS_gettid, 0, 0, 0, 0, 0);
}

static void write_thread(struct mw_lane *l, uint32_t op, uint32_t thread)
{
	uint64_t *word = l->next;

	word[0] = (uint64_t)time_now(l) << 32 | op;
	l->thread = op == MW_OP_THREAD ? thread : 0;
	word[1] = thread;
	__atomic_store_n(&l->next, word + (op == MW_OP_THREAD ? 2 : 1), __ATOMIC_RELEASE);
}

/* The next step of the buffer in use; NULL: that is full. */
static uint64_t *next_step(struct mw_lane *l)
{
	uint64_t *next = l->next;

	for (; (uintptr_t)next % MW_EVENTS_STEP; next++)
		*next = 0; /* MW_OP_NONE */
	__atomic_store_n(&l->next, next, __ATOMIC_RELEASE);
	return (uintptr_t)next % MW_EVENTS_BUFFER ? next : NULL;
}

uint64_t *mw_event_place_cold(struct mw_lane *l, bool may_wait)
{
	struct mw_events *b = NULL;
	bool first = !l->parts;
	uint64_t *next;

	mw_set(&mw_events_clock, (uint32_t)mw_events_counter());
	if (!mw_get(&mw_events_on)) /* it has just ended */
		return NULL;
	if (l->next) {
		next = next_step(l);
		if (next)
			return next;
		b = buffer_of(l->next);
		b->end = l->next;
		mw_set(&l->next, NULL);
		push_full(b);
	}
	b = pop_free();
	if (may_wait && waits && !l->lost) {
		for (int i = 0; !b && i < WAIT_MS && mw_get(&mw_events_on); i++) {
			mw_nap();
			b = pop_free();
		}
	}
	if (!b) {
		mw_set(&l->lost, l->lost + 1);
		return NULL;
	}
	if (first)
		l->stream = mw_add(&streams, 1) + 1; /* 0 is the recorder's own */
	b->stream = l->stream;
	b->part = l->parts++;
	b->lost = l->lost;
	b->end = NULL;
	b->taken = b->words;
	/* in this order nobody counts them twice: whoever sees the sum sees that they aren't here any more */
	mw_set(&l->lost, 0);
	__atomic_fetch_add(&dropped, b->lost, __ATOMIC_RELEASE);
	__atomic_store_n(&l->next, b->words, __ATOMIC_RELEASE);
	if (first)
		write_thread(l, MW_OP_THREAD, thread_now());
	return l->next;
}

static void write_event(uint64_t *word, struct mw_lane *l, uint32_t op, uint32_t ref, uint64_t size,
			uint32_t id, uint64_t extra)
{
	*word++ = (uint64_t)time_now(l) << 32 | ref | op;
	switch (op) {
	case MW_OP_ALIGNED:
	case MW_OP_REALLOC:
	case MW_OP_LIVE:
		word[1] = extra;
		__attribute__((fallthrough));
	case MW_OP_MALLOC:
	case MW_OP_CALLOC:
	case MW_OP_OWN:
		word[0] = size << MW_EVENT_SIZE_SHIFT | id;
		word += op == MW_OP_ALIGNED || op == MW_OP_REALLOC || op == MW_OP_LIVE ? 2 : 1;
		break;
	case MW_OP_FREE_LARGE:
	case MW_OP_RESIDENT:
	case MW_OP_TRIM:
		*word++ = extra;
		break;
	default:
		break;
	}
	/* no event crosses the end of a step */
	mw_assert((uintptr_t)(word - 1) / MW_EVENTS_STEP == (uintptr_t)l->next / MW_EVENTS_STEP);
	__atomic_store_n(&l->next, word, __ATOMIC_RELEASE);
}

/* Of a thread without a shard to use. */
static void event_in_common(uint32_t op, uint32_t ref, uint64_t size, uint32_t id, uint64_t extra)
{
	uint32_t thread = thread_now(), is = 0, turns = 0;
	uint64_t *word;

	while (!__atomic_compare_exchange_n(&common.lock, &is, 1, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		is = 0;
		if (++turns == SPINS) { /* perhaps this thread has it, beneath a signal handler */
			mw_add(&dropped, 1);
			return;
		}
	}
	mw_rank_took(MW_RANK_COMMON_LANE);
	word = mw_event_place(&common.lane);
	if (word && common.lane.thread != thread) {
		write_thread(&common.lane, MW_OP_THREAD, thread);
		word = mw_event_place(&common.lane);
	}
	if (word)
		write_event(word, &common.lane, op, ref, size, id, extra);
	mw_rank_left(MW_RANK_COMMON_LANE);
	__atomic_store_n(&common.lock, 0, __ATOMIC_RELEASE);
}

void mw_event(struct mw_shard *t, uint32_t op, uint32_t ref, uint64_t size, uint32_t id, uint64_t extra)
{
	uint64_t *word;

	if (!t) {
		event_in_common(op, ref, size, id, extra);
		return;
	}
	mw_assert(t->permit == MW_PERMIT_BUSY);
	word = mw_event_place(&t->lane);
	if (word)
		write_event(word, &t->lane, op, ref, size, id, extra);
}

/* Of a larger block the rest counts as absent: to ask for terabytes would take the application seconds. */
#define ASKED_MOST (UINT64_C(16) << 30)

uint64_t mw_event_pages(const void *p, uint64_t n)
{
	const uintptr_t page = mw_page_size();
	uintptr_t from = (uintptr_t)p & -page,
		  to = ((uintptr_t)p + (n < ASKED_MOST ? n : ASKED_MOST) + page - 1) & -page;
	unsigned char in[4096];
	uint64_t pages = 0;

	while (from < to) {
		uintptr_t most = to - from > sizeof(in) * page ? from + sizeof(in) * page : to;

		if (mw_sys(SYS_mincore, (long)from, (long)(most - from), (long)in, 0, 0) != 0)
			return (to - from) / page + pages; /* not known: all */
		for (size_t i = 0; i < (most - from) / page; i++)
			pages += in[i] & 1;
		from = most;
	}
	return pages;
}

void mw_event_free(struct mw_shard *t, const void *p, uint32_t ref, uint64_t size)
{
	if (size < MW_TRACE_LARGE)
		mw_event(t, MW_OP_FREE, ref, 0, 0, 0);
	else
		mw_event(t, MW_OP_FREE_LARGE, ref, 0, 0, mw_event_pages(p, size));
}

void mw_event_resident(struct mw_shard *t, const void *p, uint32_t ref, uint64_t size)
{
	if (size >= MW_TRACE_LARGE)
		mw_event(t, MW_OP_RESIDENT, ref, 0, 0, mw_event_pages(p, size));
}

void mw_event_thread(struct mw_shard *t, bool begins)
{
	if (t->lane.next && mw_event_place(&t->lane))
		write_thread(&t->lane, begins ? MW_OP_THREAD : MW_OP_THREAD_END, thread_now());
}

/* --- the recorder's thread ------------------------------------------------------------- */

static bool make_pool(void)
{
	size_t n = BUFFERS;
	char *p = NULL;

	if (pool)
		return !stuck;
	for (; !p && n >= BUFFERS_LEAST; n /= 2)
		p = mw_arena_grow((n + 1) * MW_EVENTS_BUFFER, MW_ARENA_THREAD);
	if (!p)
		return false;
	pool_size = (uint32_t)(n * 2);
	pool = (struct mw_events *)(((uintptr_t)p + MW_EVENTS_BUFFER - 1) &
				    ~(uintptr_t)(MW_EVENTS_BUFFER - 1));
	return true;
}

bool mw_events_ready(bool fine, bool wait)
{
	if (!make_pool())
		return false;
	mw_arena_hide();
	mw_events_reset();
	for (uint32_t i = pool_size; i-- > 0;)
		push_free(&pool[i]);
	waits = wait;
	mw_set(&mw_events_fine, fine);
	return true;
}

void mw_events_stuck(void)
{
	stuck = true;
}

/* Full buffers in their order: the last one first in the stack. */
static struct mw_events *oldest; /* the next to be taken */

static void fetch_full(void)
{
	uint32_t n = __atomic_exchange_n(&full_ones, 0, __ATOMIC_ACQUIRE);
	uint32_t first = 0;

	while (n) {
		uint32_t below = at(n)->next;

		at(n)->next = first;
		first = n;
		n = below;
	}
	oldest = first ? at(first) : NULL;
}

static bool take_partly(struct mw_lane *l, struct mw_events_piece *piece)
{
	uint64_t *next = __atomic_load_n(&l->next, __ATOMIC_ACQUIRE);
	struct mw_events *b;

	if (!next)
		return false;
	b = buffer_of(next);
	/* one that was filled since must come first */
	if (b->part != l->taken || next == b->taken)
		return false;
	*piece = (struct mw_events_piece){ b->taken, (size_t)(next - b->taken), b->stream, b->lost, NULL };
	b->lost = 0;
	b->taken = next;
	return true;
}

static struct mw_lane *lane_of(uint32_t stream)
{
	struct mw_shard *t;

	MW_EACH_SHARD(t)
	if (mw_get(&t->lane.parts) && mw_get(&t->lane.stream) == stream)
		return &t->lane;
	return &common.lane;
}

bool mw_events_take(struct mw_events_piece *piece, bool partly)
{
	struct mw_shard *t;
	struct mw_events *b;

	if (!oldest)
		fetch_full();
	b = oldest;
	if (b) {
		mw_assert(b->taken >= b->words && b->taken <= b->end && b->end <= b->words + EVENTS_WORDS);
		oldest = b->next ? at(b->next) : NULL;
		lane_of(b->stream)->taken = b->part + 1;
		*piece = (struct mw_events_piece){ b->taken, (size_t)(b->end - b->taken), b->stream,
						   b->lost, b };
		return true;
	}
	if (!partly)
		return false;
	MW_EACH_SHARD(t)
	if (take_partly(&t->lane, piece))
		return true;
	return take_partly(&common.lane, piece);
}

void mw_events_done(const struct mw_events_piece *piece)
{
	if (piece->whole)
		push_free(piece->whole);
}

uint64_t mw_events_dropped(void)
{
	uint64_t n = __atomic_load_n(&dropped, __ATOMIC_ACQUIRE);
	struct mw_shard *t;

	MW_EACH_SHARD(t)
	n += mw_get(&t->lane.lost);
	return n + mw_get(&common.lane.lost);
}

void mw_events_reset(void)
{
	struct mw_shard *t;

	MW_EACH_SHARD(t)
	t->lane = (struct mw_lane){ 0 };
	common.lane = (struct mw_lane){ 0 };
	common.lock = 0;
	free_ones = full_ones = streams = 0;
	mw_set(&mw_events_turn, 0);
	oldest = NULL;
	dropped = 0;
	mw_set(&mw_events_on, false);
	if (pool)
		(void)madvise(pool, (size_t)pool_size * MW_EVENTS_BUFFER, MADV_DONTNEED);
}
