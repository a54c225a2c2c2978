/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start.c - sets the tracker up at the process's first call, and gives each thread
 * its state at the thread's first call.
 *
 * One thread sets up, once; shared.c handles other calls meanwhile. The mode is MW_MODE_NONE until the
 * constructor of tracker/process/load.c has it chosen: mode.c, which stands above malloc and free.
 */
#include <limits.h>
#include <pthread.h>

#include "shared/sys/border.h"
#include "tracker/base/noticed.h"
#include "tracker/base/own_thread.h"
#include "tracker/real/musl.h"
#include "tracker/real/own_blocks.h"
#include "tracker/real/real.h"
#include "tracker/table/generation.h"
#include "tracker/table/tail.h"
#include "tracker/caller/ruby/frame.h"
#include "events.h"
#include "sample.h"
#include "track.h"

static pthread_key_t key; /* its destructor sees each thread end */
static bool key_made;

/* --- a thread's state ------------------------------------------------------------- */

#ifdef __SANITIZE_THREAD__ /* it ends its own state of the thread in the last round */
enum { LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
#else
enum { LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS };
#endif

/*
 * The C library calls destructors in rounds. Other destructors may allocate. Ours
 * asks to be called again until the last round, after the others.
 */
static __thread unsigned round_of __attribute__((tls_model("initial-exec")));

static void event_thread(struct mw_shard *t, bool begins)
{
	MW_GUARD(t);
	mw_event_thread(t, begins);
}

static void thread_ends(void *p)
{
	struct mw_shard *t = p;

	/* Ruby may have freed this thread's execution context (pthread.c). The thread is busy from
	   here on: what other destructors allocate is counted without reading that context */
	if (mw_get(&mw_ruby.how) != MW_RUBY_NONE)
		mw_set(&t->permit, MW_PERMIT_BUSY);
	if (++round_of < LAST_ROUND && pthread_setspecific(key, t) == 0)
		return;
	if (mw_get(&mw_events_on))
		event_thread(t, false);
	mw_generation_settle(t);
	mw_shard_end(t);
}

/* False: all records are changed at once (forget.c), and t keeps its old permit. Asked once t is busy: forget.c waits. */
static bool catch_up(struct mw_shard *t)
{
	bool on;

	MW_GUARD(t);
	on = mw_is_on();
	if (on)
		mw_shard_renew(t);
	return on;
}

static struct mw_shard *begin_thread(void)
{
	struct mw_shard *t = mw_shard_adopt();

	if (!t)
		return NULL;
	mw_generation_begin(t);
	mw_sampling_begin(t);
	mw_shard_quiet_enter(t); /* pthread_setspecific may allocate: that is ours */
	mw_self = t;
	if (key_made && pthread_setspecific(key, t) != 0) {
		/* no destructor would hand it on at the end: better none */
		mw_self = MW_NONE;
		mw_shard_release(t);
		return NULL;
	}
	mw_shard_quiet_leave(t);
	if (!catch_up(t))
		return NULL;
	if (mw_get(&mw_events_on))
		event_thread(t, true);
	return t;
}

struct mw_shard *mw_permitted_cold(void)
{
	struct mw_shard *t = mw_shard_now();

	/* the caller may have looked before the change that the new permit comes with */
	return mw_get(&mw_events_on) || mw_get(&mw_sampled) ? NULL : t;
}

struct mw_shard *mw_shard_now(void)
{
	struct mw_shard *t;

	if (__atomic_load_n(&mw_life, __ATOMIC_ACQUIRE) == MW_NOT_STARTED)
		mw_start();
	if (!mw_is_on())
		return NULL;
	t = mw_self;
	if (t == MW_NONE)
		return begin_thread();
	if (mw_get(&t->permit) == MW_PERMIT_BUSY || mw_get(&t->permit) == MW_PERMIT_QUIET)
		return NULL;
	if (mw_get(&t->permit) != __atomic_load_n(&mw_permit, __ATOMIC_ACQUIRE) && !catch_up(t))
		return NULL;
	return t;
}

/* tcmalloc's first malloc_usable_size() allocates: better here than inside our own work. */
static void prime_usable_size(void)
{
	void *p = mw_real.malloc(1);

	if (p)
		(void)mw_real.malloc_usable_size(p);
	mw_real.free(p);
}

/* This thread's state if it is busy. */
static struct mw_shard *busy_state(void)
{
	struct mw_shard *t = mw_state();

	return t && mw_get(&t->permit) == MW_PERMIT_BUSY ? t : NULL;
}

/* Our texts lie in the app's heap. Quiet tells a witness beneath that they aren't the app's. */
static void *text_alloc(size_t n)
{
	void *p;

	mw_quiet_enter();
	p = mw_own_blocks_here() ? mw_own_alloc(1, n) : mw_real.malloc(n);
	mw_quiet_leave();
	if (p && mw_get(&mw_events_on))
		mw_event(busy_state(), MW_OP_OWN, 0, n, 0, 0);
	return p;
}

static void text_free(void *p)
{
	mw_quiet_enter();
	mw_own_or_real_free(p);
	mw_quiet_leave();
}

/* hot: beside malloc, which calls them, on allocators with size classes */
static __attribute__((hot, noinline)) void *padded_by_class(size_t bytes)
{
	return mw_real.malloc(mw_padded(bytes - MW_TAIL));
}

MW_ROW(15) MW_LINE static void *room_by_class(size_t bytes)
{
	/* the usual ones get a tail, and aren't the least */
	if (mw_unlikely(bytes - MW_LEAST >= MW_BESIDE + MW_TAIL - MW_LEAST))
		return padded_by_class(bytes);
	return mw_real.malloc(bytes);
}

/* For a process in which nothing is tracked. */
static void *room_as_asked(size_t bytes)
{
	return mw_real.malloc(bytes - MW_TAIL);
}

/* On musl. */
static void *room_of_least(size_t bytes)
{
	return mw_real.malloc(bytes < MW_LEAST ? (size_t)MW_LEAST : bytes);
}

static void *(*roomy)(size_t); /* what each thread comes to; NULL: not known yet; release */

static void *room_at_first(size_t bytes)
{
	void *(*f)(size_t);

	if (__atomic_load_n(&mw_life, __ATOMIC_ACQUIRE) == MW_NOT_STARTED)
		mw_start();
	f = __atomic_load_n(&roomy, __ATOMIC_ACQUIRE);
	if (!f)
		return room_of_least(bytes);
	mw_roomy_malloc = f;
	return f(bytes);
}

__thread void *(*mw_roomy_malloc)(size_t)__attribute__((tls_model("initial-exec"))) = room_at_first;

void mw_own_blocks_only(void)
{
	if (mw_own_blocks_here())
		mw_roomy_malloc = mw_own_roomy;
	mw_quiet_enter();
	if (mw_state())
		mw_set(&mw_self->unsampled, 0); /* none passes as one that is no sample */
}

void mw_start(void)
{
	int is = MW_NOT_STARTED;
	bool ok;

	if (!__atomic_compare_exchange_n(&mw_life, &is, MW_STARTING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	mw_border();
	mw_real_init();
	if (mw_real_aside) {
		__atomic_store_n(&roomy, room_as_asked, __ATOMIC_RELEASE);
		__atomic_store_n(&mw_life, MW_OFF, __ATOMIC_RELEASE);
		return;
	}
	mw_arena_use(text_alloc, text_free);
	prime_usable_size();
	key_made = pthread_key_create(&key, thread_ends) == 0;
	ok = mw_callsites_init();
	mw_tails_expect(ok);
	__atomic_store_n(&roomy,
			 !ok                ? room_as_asked :
			 mw_real_glibc      ? mw_real.malloc :
			 mw_real_musl_plain ? room_of_least :
					      room_by_class,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&mw_life, ok ? MW_ON : MW_OFF, __ATOMIC_RELEASE);
}
