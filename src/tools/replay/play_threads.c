/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "play_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "shared/sys/sys.h"
#include "mem.h"

/* A stack of the player's own: the C library's would count as malloc's memory. */
enum { STACK = 256 << 10, USABLE = STACK - 128, FIRST = 64 };

struct thread {
	uint32_t go; /* stored with release by who hands the turn over, read with acquire by this thread */
	uint32_t number;
	pthread_t id;
	char *stack;
	struct thread *spare; /* the next one that has ended */
};

/* The thread whose turn it is has all of this; only `go` is read by others. */
static struct {
	const struct mw_play_turns *is;
	struct thread **by_number;
	size_t room;
	struct thread *ended; /* to be joined by the thread that goes on */
	struct thread *spare; /* with a stack, for the next one */
	bool there; /* the event that `next` found hasn't been played yet */
	bool over;
	uint32_t made;
	int error;
} turns;

static void *run_thread(void *arg);
_Static_assert(sizeof(struct thread) <= STACK - USABLE, "a thread lies above its stack");

static bool fail_turns(int error)
{
	turns.error = error;
	turns.over = true;
	return false;
}

static bool make_number_room(uint32_t number)
{
	size_t room = turns.room ? turns.room : FIRST;
	struct thread **more;

	if (number < turns.room)
		return true;
	while (room <= number)
		room *= 2;
	more = mw_mem(room * sizeof(*more));
	if (!more)
		return fail_turns(ENOMEM);
	if (turns.room) {
		memcpy(more, turns.by_number, turns.room * sizeof(*more));
		mw_mem_free(turns.by_number, turns.room * sizeof(*more));
	}
	turns.by_number = more;
	turns.room = room;
	return true;
}

/* A struct that lies at the upper end of a stack. */
static struct thread *take_stack(void)
{
	struct thread *t = turns.spare;
	char *stack;

	if (t) {
		turns.spare = t->spare;
		return t;
	}
	stack = mw_mem(STACK);
	if (!stack)
		return NULL;
	mprotect(stack, mw_page_size(), PROT_NONE); /* without it, no guard: nothing worse */
	t = (struct thread *)(void *)(stack + USABLE);
	t->stack = stack;
	return t;
}

/* Makes a thread, which has the turn then. */
static bool make_thread(uint32_t number)
{
	struct thread *t = take_stack();
	pthread_attr_t a;
	int error;

	if (!t)
		return fail_turns(ENOMEM);
	t->number = number;
	t->go = 1;
	turns.by_number[number] = t;
	pthread_attr_init(&a);
	error = pthread_attr_setstack(&a, t->stack, USABLE);
	if (!error)
		error = pthread_create(&t->id, &a, run_thread, t);
	pthread_attr_destroy(&a);
	turns.made += !error;
	return error ? fail_turns(error) : true;
}

/* The turn was handed to this thread. */
static void arrive(void)
{
	struct thread *t = turns.ended;

	if (!t)
		return;
	turns.ended = NULL;
	pthread_join(t->id, NULL);
	if (turns.by_number[t->number] == t)
		turns.by_number[t->number] = NULL;
	t->spare = turns.spare;
	turns.spare = t;
}

static void wait_for_turn(struct thread *t)
{
	while (!__atomic_load_n(&t->go, __ATOMIC_ACQUIRE))
		mw_sys_futex_wait(&t->go, 0, UINT64_C(1) << 60);
	__atomic_store_n(&t->go, 0, __ATOMIC_RELAXED);
}

static void wake_thread(struct thread *t)
{
	__atomic_store_n(&t->go, 1, __ATOMIC_RELEASE);
	mw_sys_futex_wake(&t->go);
}

/* To the thread of the next event; if there is none, or no such thread can be made, to the main thread. */
static void hand_over(uint32_t number)
{
	if (!turns.over && make_number_room(number)) {
		if (turns.by_number[number] && turns.by_number[number] != turns.ended) {
			wake_thread(turns.by_number[number]);
			return;
		}
		if (make_thread(number))
			return;
	}
	wake_thread(turns.by_number[0]);
}

static bool find_next(uint32_t *number)
{
	if (!turns.there && turns.is->next(turns.is->ctx, number) == MW_PLAY_OVER)
		turns.over = true;
	turns.there = !turns.over;
	return turns.there;
}

/* Plays this thread's events from its turn on, and others in between, until it ends or all is over. */
static void take_turns(struct thread *t)
{
	static uint32_t next; /* the thread of the present event */
	bool main = !t->number;

	for (;;) {
		if (turns.over || !find_next(&next))
			break;
		if (next == t->number) {
			bool last = turns.is->ends(turns.is->ctx) && !main;

			turns.there = false;
			turns.is->play(turns.is->ctx);
			if (!last)
				continue;
			find_next(&next);
			turns.ended = t;
			hand_over(next);
			return;
		}
		hand_over(next);
		wait_for_turn(t);
		arrive();
		turns.is->resume(turns.is->ctx);
	}
	if (main)
		return;
	wake_thread(turns.by_number[0]);
	for (;;)
		wait_for_turn(t);
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	wait_for_turn(t);
	arrive();
	turns.is->resume(turns.is->ctx);
	take_turns(t);
	return NULL;
}

bool mw_play_threads(const struct mw_play_turns *is, uint32_t *made, int *error)
{
	static struct thread first;

	turns.is = is;
	if (make_number_room(0)) {
		turns.by_number[0] = &first;
		first.id = pthread_self();
		turns.made = 1;
		take_turns(&first);
	}
	*made = turns.made;
	*error = turns.error;
	return !turns.error;
}
