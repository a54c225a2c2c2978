/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "window.h"

#include <stddef.h>

#include "shared/sys/atomics.h"
#include "shared/sys/clock.h"
#include "deaths.h"
#include "ruby_calls.h"
#include "samples.h"

enum {
	NOTED = 20,    /* objects that a window notes, at least */
	NOTED_MOST = 160, /* if many objects were made since the last one */
	SKIPPED = 400, /* before the first one, at most: a job always runs at the same place of a loop */
	GAP = 8, /* from one to the next, at most */
	STACKED = 2, /* of one sample in so many, by chance, it is kept who called its line */
	TIMED = 32, /* one call of the hook in so many is timed */
	TIMED_MOST = 2000, /* ns: a call that took longer is unusual, and doesn't stand for others */
	PAUSE = 50000000 /* ns, for the first hook that stayed in Ruby's list */
};

/* With the GVL and the VM's lock, as samples.h says. */
static struct {
	const struct mw_api *api;
	mw_ruby_value tracepoint; /* Ruby keeps it: rb_gc_register_address */
	uint32_t skip; /* objects, until the next one is noted */
	uint32_t noted; /* in this window, also if they found no location */
	uint32_t wanted; /* NOTED to NOTED_MOST */
	uint32_t number;
	uint64_t calls; /* of the hook */
	uint64_t allocated; /* by Ruby, at the end of the last window */
	uint64_t pause, until; /* ns, and the time at which it ends: no window opens before */
	double usual; /* new objects from one window to the next: a mean of the last ones */
	uint64_t clock_ns; /* the time for a reading of the clock */
	uint64_t seed;
} window;

/* CLOSED: none. WANTED: the job shall open one. OPEN: the hook notes. FULL: the job shall close it. Acquire, release. */
static uint32_t state;
enum { CLOSED, WANTED, OPEN, FULL };

static bool begun; /* release, acquire */
static const char *broken; /* written before `begun` */
static uint32_t second; /* relaxed */
static uint64_t noted, ns; /* relaxed; one writer */
static double total, squares; /* of the objects from one window to the next; relaxed */

static uint64_t random_bits(void)
{
	window.seed ^= window.seed << 13;
	window.seed ^= window.seed >> 7;
	window.seed ^= window.seed << 17;
	return window.seed >> 11;
}

/* CPU time: a thread that is descheduled in a hook costs the app nothing. */
static uint64_t cpu_ns(void)
{
	return mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void run_window_job(void *);

/* A stack takes long and is seldom, so it is timed by itself. */
static uint32_t location_here(uint32_t *stack)
{
	uint64_t from;
	uint32_t id;

	*stack = 0;
	if (random_bits() % STACKED)
		return window.api->object_here(NULL);
	from = cpu_ns();
	id = window.api->object_here(stack);
	mw_set(&ns, mw_get(&ns) + (cpu_ns() - from));
	return id;
}

static void note_new_object(mw_ruby_value object)
{
	uint32_t stack, id = location_here(&stack);
	struct mw_samples *s;

	window.noted++;
	if (id == MW_ID_NOWHERE)
		return;
	s = mw_samples_begin();
	if (s->n < MW_SAMPLES)
		s->v[s->n++] = (struct mw_sample){
			.object = object,
			.id = id,
			.stack = stack,
			.born = mw_get(&second),
			.count = (uint32_t)mw_walk_ruby.rb_gc_count(),
			.majors_then = (uint32_t)mw_objects_ruby.rb_gc_stat(mw_objects_ruby.majors),
			.window = window.number,
			.slot = (uint16_t)(mw_objects_ruby.rb_gc_obj_slot_size ?
						   mw_objects_ruby.rb_gc_obj_slot_size(object) :
						   40 /* each, up to Ruby 3.1 */),
		};
	else
		window.api->object_gone(id, stack);
	mw_samples_end();
}

static void hook(mw_ruby_value object)
{
	if (window.skip-- > 1)
		return;
	window.skip = 1 + (uint32_t)(random_bits() % GAP);
	note_new_object(object);
	if (window.noted < window.wanted)
		return;
	__atomic_store_n(&state, FULL, __ATOMIC_RELEASE);
	(void)window.api->ask_ruby(run_window_job);
}

/* A new object. Nothing of it is set but its slot. */
static void made(mw_ruby_value tp, void *unused)
{
	const struct mw_objects_ruby *rb = &mw_objects_ruby;
	uint64_t from, stacks = mw_get(&ns);

	(void)unused;
	if (mw_get(&state) != OPEN)
		return;
	if (window.calls++ % TIMED) {
		hook(rb->rb_tracearg_object(rb->rb_tracearg_from_tracepoint(tp)));
		return;
	}
	from = cpu_ns();
	hook(rb->rb_tracearg_object(rb->rb_tracearg_from_tracepoint(tp)));
	from = cpu_ns() - from - (mw_get(&ns) - stacks);
	from = from > window.clock_ns ? from - window.clock_ns : 0;
	mw_set(&ns, mw_get(&ns) + (from < TIMED_MOST ? from * TIMED : from + TIMED_MOST * (TIMED - 1)));
}

/* The weights of all windows shall be much the same: a few heavy samples would make the estimate a matter of chance. */
static uint32_t worth_noting(double made)
{
	double n = window.usual > 0 ? NOTED * made / window.usual : NOTED;

	window.usual += (made - window.usual) / (window.usual > 0 ? 16 : 1);
	return n < NOTED ? NOTED : n < NOTED_MOST ? (uint32_t)n : NOTED_MOST;
}

static void open_window(void)
{
	window.number++;
	window.noted = 0;
	window.wanted = worth_noting((double)(mw_objects_ruby.rb_gc_stat(mw_objects_ruby.allocated) -
					      window.allocated));
	window.skip = 1 + (uint32_t)(random_bits() % SKIPPED);
	__atomic_store_n(&state, OPEN, __ATOMIC_RELEASE);
	(void)mw_objects_ruby.rb_tracepoint_enable(window.tracepoint);
}

/*
 * Ruby frees a removed hook at once, unless a block of a TracePoint's runs, as at a debugger's prompt, or waits in any
 * thread. Until that is over it stays in the list, and up to Ruby 3.4 each new object makes Ruby walk the list. So the
 * pause until the next window doubles, and few hooks stay.
 */
static void remove_hook(void)
{
	size_t before = mw_objects_ruby_stat(mw_objects_ruby.malloc_increase);

	(void)mw_objects_ruby.rb_tracepoint_disable(window.tracepoint);
	if (mw_objects_ruby_stat(mw_objects_ruby.malloc_increase) < before)
		window.pause = 0;
	else if (before) /* else a collection has set it to 0, and it can't tell */
		window.pause = window.pause ? window.pause * 2 : PAUSE;
	window.until = mw_now_ns() + window.pause;
}

static void close_window(void)
{
	uint64_t allocated = mw_objects_ruby.rb_gc_stat(mw_objects_ruby.allocated);
	double made = (double)(allocated - window.allocated), weight = made / window.noted;
	double sum = total + made, sum_of_squares = squares + made * made;
	struct mw_samples *s;

	remove_hook();
	mw_deaths_identify();
	window.allocated = allocated;
	mw_set(&noted, mw_get(&noted) + window.noted);
	__atomic_store(&total, &sum, __ATOMIC_RELAXED);
	__atomic_store(&squares, &sum_of_squares, __ATOMIC_RELAXED);
	s = mw_samples_begin();
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i].weight <= 0) {
			s->v[i].weight = weight > 1 ? weight : 1;
			s->v[i].of = (uint16_t)window.noted;
		}
	if (s->n > MW_SAMPLES_FULL)
		mw_samples_thin(s, random_bits);
	if (!mw_objects_ruby_by_identity()) /* else some may have died since the last look, which names them */
		mw_samples_name(s, NULL);
	mw_samples_end();
	__atomic_store_n(&state, CLOSED, __ATOMIC_RELEASE);
}

static uint64_t cost_of_the_clock(void)
{
	uint64_t least = UINT64_MAX, from, took;

	for (int i = 0; i < 16; i++) {
		from = cpu_ns();
		took = cpu_ns() - from;
		least = took < least ? took : least;
	}
	return least;
}

/* Ruby allocates here, and may raise. */
static mw_ruby_value make_hooks(mw_ruby_value unused)
{
	if (!mw_objects_ruby_learn()) {
		broken = "GC.stat lacks total_allocated_objects or major_gc_count";
	} else if (!mw_samples_make(window.api)) {
		broken = "no memory";
	} else {
		mw_objects_ruby.rb_gc_register_address(&window.tracepoint);
		window.tracepoint = mw_objects_ruby.rb_tracepoint_new(0, MW_EVENT_NEWOBJ, made, NULL);
		if (!mw_deaths_watch(window.api))
			broken = "Ruby doesn't say which object has an object_id";
		window.allocated = mw_objects_ruby.rb_gc_stat(mw_objects_ruby.allocated);
	}
	return unused;
}

/* The first job. */
static void begin_windows(void)
{
	mw_ruby_value was = mw_walk_ruby.rb_errinfo();
	int raised;

	(void)mw_walk_ruby.rb_protect(make_hooks, 0, &raised);
	if (raised) {
		mw_walk_ruby.rb_set_errinfo(was);
		broken = "Ruby refuses the hooks";
	}
	window.clock_ns = cost_of_the_clock();
	window.seed = mw_now_ns() | 1;
	__atomic_store_n(&begun, true, __ATOMIC_RELEASE);
}

static void work_at_window(void *unused)
{
	size_t collections = mw_walk_ruby.rb_gc_count();
	uint32_t now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
	uint64_t from;

	(void)unused;
	window.api->quiet_enter();
	if (!__atomic_load_n(&begun, __ATOMIC_RELAXED))
		begin_windows();
	if (!broken && now == WANTED)
		mw_deaths_look();
	from = cpu_ns();
	if (!broken && now == WANTED && mw_now_ns() >= window.until)
		open_window();
	else if (!broken && now == FULL)
		close_window();
	window.api->quiet_leave();
	if (mw_walk_ruby.rb_gc_count() == collections) /* else most of it was a collection's */
		mw_set(&ns, mw_get(&ns) + (cpu_ns() - from));
}

/*
 * In a Ruby thread, with the GVL, at a safe point. Ruby may run it when its code has ended, while it ends its threads: by
 * then it has removed all hooks, and a hook that is set after that ends the process with "[BUG]".
 */
static void run_window_job(void *unused)
{
	(void)window.api->while_ruby(work_at_window, unused);
}

bool mw_window_ask(const struct mw_api *api)
{
	uint32_t closed = CLOSED;

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == OPEN)
		return true;
	window.api = api;
	/* WANTED or FULL: Ruby may have lost the job, as a fork does */
	(void)__atomic_compare_exchange_n(&state, &closed, WANTED, false, __ATOMIC_ACQ_REL,
					  __ATOMIC_RELAXED);
	return api->ask_ruby(run_window_job);
}

void mw_windows_second(uint32_t up)
{
	mw_set(&second, up);
}

bool mw_windows_begun(const char **why)
{
	bool is = __atomic_load_n(&begun, __ATOMIC_ACQUIRE);

	*why = is ? broken : NULL;
	return is;
}

uint64_t mw_windows_noted(void)
{
	return mw_get(&noted);
}

void mw_windows_made(double *sum, double *sum_of_squares)
{
	__atomic_load(&total, sum, __ATOMIC_RELAXED);
	__atomic_load(&squares, sum_of_squares, __ATOMIC_RELAXED);
}

uint64_t mw_windows_ns(void)
{
	return mw_get(&ns);
}
