/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events.h - while calls are recorded: each thread's events, on their way to the file.
 *
 * Off, a recording costs the fast way nothing: mw_permit_calls is nobody's while it is on, so then each
 * call goes another way (recorded.c and the cold functions), which emits an event. An event is 1 to 3
 * words (recording/format/format.h).
 *
 * A thread writes into a buffer of its own. A full one goes to the writer, in a lock-free stack. It comes back
 * through another one. The writer also reads what is in a buffer that isn't full, up to lane.next (acquire).
 * If no buffer is free, the thread waits up to 50 ms, unless trace_full:drop is set. Then it drops events
 * and counts them. It doesn't wait again before it has a buffer.
 *
 * Calls of threads without a shard, and of signal handlers in the middle of our own work, have one lane in
 * common, behind a lock that nobody waits for: a busy lock drops the event.
 *
 * mw_events_begin, _end, _take, _done, _reset: one thread at a time, the recorder's.
 */
#pragma once

#include "shared/sys/ticks.h"
#include "tracker/table/shard.h"
#include "recording/format/format.h"

enum {
	MW_EVENTS_BUFFER = 64 << 10, /* bytes of a buffer, which is aligned to that */
	MW_EVENTS_HEAD = 64, /* of them before the first event */
	/*
	 * No event crosses a multiple of that: zeros fill the words left before it. There the thread looks at the
	 * clock, every 50th event or so: so the coarse clock goes on even if nobody runs the recorder's thread.
	 */
	MW_EVENTS_STEP = 1024,
	MW_EVENT_MOST = 24 /* bytes of an event */
};

/* One's events that are written and not taken yet: n words. */
struct mw_events_piece {
	const uint64_t *words;
	size_t n;
	uint32_t stream;
	uint32_t lost; /* events dropped before these */
	struct mw_events *whole; /* the buffer, if these are its last; else NULL */
};

extern MW_HOT bool mw_events_on; /* relaxed: off the fast way, and cold functions, look here */
/* The low bits of the last value of the counter that somebody read: the coarse clock. Relaxed. */
extern MW_HOT uint32_t mw_events_clock;
/*
 * Stream of the last event: relaxed. Threads of Ruby take turns under its lock. A thread whose event follows
 * another thread's moves the coarse clock on, so that the order of turns is known. Others don't: threads that run
 * side by side would fight for this word.
 */
extern MW_HOT uint32_t mw_events_turn;
extern MW_HOT bool mw_events_fine;
enum { MW_EVENTS_SHIFT = 6 }; /* the processor's counter is divided by 64 on x86-64 */

/* The processor's counter in ticks of a recording: some 10 to 60 in a microsecond. Any thread. */
MW_INLINE uint64_t mw_events_counter(void)
{
#if defined(__x86_64__)
	return mw_ticks() >> MW_EVENTS_SHIFT;
#elif defined(__aarch64__)
	return mw_ticks();
#else
	return mw_ticks() / 1000;
#endif
}
/* The coarse clock, at least a tick later than it was. */
uint32_t mw_events_next_turn(uint32_t stream);
/* The time of an event of this lane; turns: threads take turns. */
MW_INLINE uint32_t mw_events_now(const struct mw_lane *l, bool turns)
{
	if (mw_unlikely(mw_get(&mw_events_fine)))
		return (uint32_t)mw_events_counter();
	if (turns && mw_unlikely(mw_get(&mw_events_turn) != l->stream))
		return mw_events_next_turn(l->stream);
	return mw_get(&mw_events_clock);
}

/* Where the lane's next event goes if a step of the buffer ends; NULL: it is dropped, and counted. */
uint64_t *mw_event_place_cold(struct mw_lane *, bool may_wait);
MW_INLINE uint64_t *mw_event_place(struct mw_lane *l)
{
	uint64_t *at = l->next;
	uintptr_t in = ((uintptr_t)at - 8) % MW_EVENTS_STEP; /* NULL and a multiple are far in */

	if (mw_unlikely(in > MW_EVENTS_STEP - 8 - MW_EVENT_MOST))
		return mw_event_place_cold(l, true);
	return at;
}

_Static_assert(MW_CS_MAX <= 1u << MW_EVENT_SIZE_SHIFT, "an event has room for any id");

/* A birth without an extra; ref: the record's (record.h). t is busy. */
MW_INLINE void mw_event_born(struct mw_shard *t, bool turns, uint32_t op, uint32_t ref, uint64_t size,
			     uint32_t id)
{
	uint64_t *at = mw_event_place(&t->lane);

	if (mw_unlikely(!at))
		return;
	mw_assert(t->permit == MW_PERMIT_BUSY && ref % 16 == 0 && op < 16); /* one word has both */
	at[0] = (uint64_t)mw_events_now(&t->lane, turns) << 32 | ref | op;
	at[1] = size << MW_EVENT_SIZE_SHIFT | id;
	__atomic_store_n(&t->lane.next, at + 2, __ATOMIC_RELEASE);
}
/* The end of a small block's life. t is busy. */
MW_INLINE void mw_event_gone(struct mw_shard *t, bool turns, uint32_t ref)
{
	uint64_t *at = mw_event_place(&t->lane);

	if (mw_unlikely(!at))
		return;
	mw_assert(t->permit == MW_PERMIT_BUSY && ref % 16 == 0);
	at[0] = (uint64_t)mw_events_now(&t->lane, turns) << 32 | ref | MW_OP_FREE;
	__atomic_store_n(&t->lane.next, at + 1, __ATOMIC_RELEASE);
}

/*
 * Any event, by any thread; t: its busy shard, or NULL. size, id and extra count if the op has them.
 * Each keeps errno.
 */
void mw_event(struct mw_shard *t, uint32_t op, uint32_t ref, uint64_t size, uint32_t id, uint64_t extra);
/* The end of the block at p, before its free: with its pages in memory if it is large. */
void mw_event_free(struct mw_shard *t, const void *p, uint32_t ref, uint64_t size);
/* The same for a block that a realloc moves or resizes: notes its pages in memory if it is large. */
void mw_event_resident(struct mw_shard *t, const void *p, uint32_t ref, uint64_t size);
/* Pages of [p, p + n) in memory. */
uint64_t mw_event_pages(const void *p, uint64_t n);
/* The calling thread has t from now on, or ends: t is busy. */
void mw_event_thread(struct mw_shard *t, bool begins);

/* mode.c. Memory for the buffers; false: there is none. wait: for a free buffer. */
bool mw_events_begin(bool fine, bool wait);
/* mode.c. From here on no event is written. False: a thread is still on its way, and no recording can begin again. */
bool mw_events_end(void);
/* For these two. ready makes the buffers, or empties them. stuck: a thread never left, so they are its for ever. */
bool mw_events_ready(bool fine, bool wait);
void mw_events_stuck(void);
/*
 * The next events that nobody has taken; partly: also those in buffers that aren't full. False: there are
 * none now. `done` follows each.
 */
bool mw_events_take(struct mw_events_piece *, bool partly);
void mw_events_done(const struct mw_events_piece *);
/* How many events were dropped since the beginning: never too many. Any thread may ask. */
uint64_t mw_events_dropped(void);
/* In a forked child, or after the end of a recording: there are no lanes. */
void mw_events_reset(void);
