/* SPDX-License-Identifier: GPL-2.0-or-later */
/* objects.c - the life of the sampling, and sums by location. See objects.h. */
#include "objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/options/options.h"
#include "shared/sys/atomics.h"
#include "shared/sys/clock.h"
#include "shared/sys/sys.h"
#include "deaths.h"
#include "ruby_calls.h"
#include "samples.h"
#include "window.h"

enum {
	STACK = 64 * 1024, /* of the thread */
	CPU_NS = 5000000,  /* the process's CPU time from window to window, at least */
	CPU_MOST_NS = 500000000, /* and at most */
	SHARE = 333,       /* a window, and asking for it, may take one part in so many of it: 0.3 % */
	WALL_SHARE = 10000, /* or of the time, for an app that hardly works and leaks all the same: 0.01 % */
	WALL_S = 5, /* from window to window then, at least */
	WALL_MOST_S = 60, /* and at most */
	NAP_NS = 5000000, /* the thread's sleep, at least. It is as long as one CPU takes to the next window; or, */
	NAP_MOST_NS = 320000000 /* while the process doesn't work, twice as long as the last one */
};

static const char *unavailable; /* a text that stays; the owner of the site writes it */
static pid_t asker; /* the process in which the thread runs; 0: none. Acquire, release */
static uint64_t asking_ns; /* CPU time of the thread, and of those before it; relaxed */

/* --- the thread ------------------------------------------------------------------------------------ */

static uint64_t within(uint64_t v, uint64_t least, uint64_t most)
{
	return v < least ? least : v > most ? most : v;
}

/* The process has taken so much CPU time, and works or not. When is the next window due? 0: Ruby can't be asked. */
static uint64_t ask_when_due(const struct mw_api *api, uint64_t cpu, bool works, uint64_t due)
{
	static uint64_t spent; /* on windows, as of the last one */
	static uint64_t latest; /* the time at which the next one is due, whatever CPU time was taken */
	bool look = mw_deaths_want_look(cpu, !works);
	uint64_t cost, now = mw_now_ns();

	if (cpu < due && now < latest && (works || !look))
		return due;
	if (!mw_window_ask(api))
		return 0;
	cost = mw_windows_ns() + mw_get(&asking_ns) - spent;
	spent += cost;
	latest = now + within(cost * WALL_SHARE, WALL_S * 1000000000ull, WALL_MOST_S * 1000000000ull);
	return cpu + within(cost * SHARE, CPU_NS, CPU_MOST_NS);
}

static void *ask_for_windows(void *arg)
{
	const struct mw_api *api = arg;
	const uint64_t before = mw_get(&asking_ns);
	uint64_t nap = NAP_NS, due = 1, last = 0;

	while (due && api->sleep_until(mw_now_ns() + nap)) {
		uint64_t cpu = mw_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		bool works = cpu - last > nap / 8;

		if (!api->paused())
			due = ask_when_due(api, cpu, works, due);
		nap = within(!works ? nap * 2 : due > cpu ? due - cpu : 0, NAP_NS, NAP_MOST_NS);
		last = cpu;
		mw_set(&asking_ns, before + mw_clock_ns(CLOCK_THREAD_CPUTIME_ID));
	}
	__atomic_store_n(&asker, 0, __ATOMIC_RELEASE);
	return NULL;
}

static void keep_asking(const struct mw_api *api)
{
	pid_t self = mw_sys_getpid();

	if (__atomic_load_n(&asker, __ATOMIC_ACQUIRE) == self || (api->leaving && api->leaving()))
		return;
	__atomic_store_n(&asker, self, __ATOMIC_RELEASE);
	if (api->thread_start(ask_for_windows, (void *)(uintptr_t)api, STACK))
		__atomic_store_n(&asker, 0, __ATOMIC_RELEASE); /* next second again */
}

/* --- sums ------------------------------------------------------------------------------------------ */

static int by_location_id(const void *a, const void *b)
{
	const struct mw_sample *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->window < y->window ? -1 : x->window > y->window;
}

/* Rounded: a location that has samples has an object. */
static uint64_t whole_at_least_one(double v)
{
	return v < 1 ? 1 : (uint64_t)(v + 0.5);
}

/* A location's part while it is summed up: of one window, and of all so far. */
struct part {
	uint32_t window;
	double of_window, made; /* objects at the location, and all of the window */
	double objects, bytes, squares; /* of samples */
	double parts, products; /* of windows: part^2, part * made */
};

static void end_window(struct part *p)
{
	p->parts += p->of_window * p->of_window;
	p->products += p->of_window * p->made;
	p->of_window = 0;
}

/*
 * The variance of a sum over windows: how far each window's part is from the location's share of all objects. Windows without a
 * part count, too: their squares are in those of all. Not less than that of independent samples.
 */
static double variance(const struct part *p)
{
	double all, squares, share, v;

	mw_windows_made(&all, &squares);
	share = all > 0 ? p->objects / all : 0;
	v = p->parts - 2 * share * p->products + share * share * squares;
	return v > p->squares ? v : p->squares;
}

static void end_part(struct part *p, struct mw_object_sum *sum)
{
	end_window(p);
	sum->objects = whole_at_least_one(p->objects);
	sum->bytes = whole_at_least_one(p->bytes);
	sum->variance = whole_at_least_one(variance(p));
	*p = (struct part){ 0 };
}

/* Those of the samples that stay, summed up by location into sums[]; returns how many. */
static size_t sum_up_samples(struct mw_samples *s, struct mw_object_sum *sums)
{
	struct part p = { 0 };
	size_t n = 0;

	qsort(s->v, s->n, sizeof(*s->v), by_location_id);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct mw_sample *v = &s->v[i];

		if (!mw_sample_stays(v))
			continue;
		if (n && sums[n - 1].id != v->id)
			end_part(&p, &sums[n - 1]);
		if (!n || sums[n - 1].id != v->id)
			sums[n++] = (struct mw_object_sum){ .id = v->id };
		if (p.window != v->window)
			end_window(&p);
		p.window = v->window;
		p.made = v->weight * v->of;
		p.of_window += v->weight;
		p.objects += v->weight;
		p.bytes += v->weight * v->slot;
		p.squares += v->weight * v->weight;
		sums[n - 1].samples++;
	}
	if (n)
		end_part(&p, &sums[n - 1]);
	return n;
}

static int by_stack(const void *a, const void *b)
{
	const struct mw_object_stack *x = a, *y = b;

	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Those of the samples that stay and have stacks, summed up by these into to[]; returns how many. */
static size_t sum_stacks(const struct mw_samples *s, struct mw_object_stack *to)
{
	size_t all = 0, n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct mw_sample *v = &s->v[i];

		if (v->stack && mw_sample_stays(v))
			to[all++] = (struct mw_object_stack){ v->id, v->stack, 1, v->weight,
							      v->weight * v->slot };
	}
	qsort(to, all, sizeof(*to), by_stack);
	for (size_t i = 0; i < all; i++)
		if (n && to[n - 1].stack == to[i].stack) {
			to[n - 1].samples++;
			to[n - 1].objects += to[i].objects;
			to[n - 1].bytes += to[i].bytes;
		} else {
			to[n++] = to[i];
		}
	return n;
}

/* Those of the last second; the owner of the site's. */
static struct {
	struct mw_object_sum *sums;
	size_t n;
	uint32_t changes; /* of the samples, before they were copied */
	size_t collections; /* mw_deaths_count() then */
	struct mw_api api; /* the others' view of them */
	const struct mw_api *tracker;
} published;

/* The noted objects without what has died, malloc'ed; NULL: no memory, or none could be had. */
static struct mw_samples *copy_living(void)
{
	struct mw_samples *s = mw_samples_copy();

	if (s)
		mw_deaths_since(s);
	return s;
}

static void publish(const struct mw_api *api)
{
	uint32_t changes = mw_samples_changes();
	size_t collections = mw_deaths_count();
	bool same = published.sums && changes == published.changes && collections == published.collections;
	struct mw_samples *s = same ? NULL : copy_living();
	struct mw_object_sum *sums = s ? malloc(sizeof(*sums) * MW_SAMPLES) : NULL, *fit;
	struct mw_object_stack *stacks = s ? malloc(sizeof(*stacks) * MW_SAMPLES) : NULL;

	published.tracker = api;
	if (sums && stacks) {
		published.n = sum_up_samples(s, sums);
		published.changes = changes;
		published.collections = collections;
		api->objects(sums, published.n, stacks, sum_stacks(s, stacks));
		free(published.sums);
		fit = realloc(sums, sizeof(*sums) * (published.n + 1));
		published.sums = fit ? fit : sums;
	} else {
		free(sums);
	}
	free(stacks);
	free(s);
}

static bool bytes_by_id(struct mw_live_sums *to)
{
	if (!published.tracker->live_sums(to))
		return false;
	for (uint32_t id = 1; id < to->end; id++)
		to->v[id].bytes = 0;
	for (size_t i = 0; i < published.n; i++)
		if (published.sums[i].id < to->end)
			to->v[published.sums[i].id].bytes = published.sums[i].bytes;
	return true;
}

const struct mw_api *mw_objects_api(void)
{
	if (!published.sums || !published.tracker->live_sums)
		return NULL;
	published.api = *published.tracker;
	published.api.live_sums = bytes_by_id;
	return &published.api;
}

struct mw_object_stay *mw_objects_stays(size_t *n)
{
	struct mw_samples *s = copy_living();
	struct mw_object_stay *to = s && s->n ? malloc(s->n * sizeof(*to)) : NULL;

	*n = 0;
	for (uint32_t i = 0; to && i < s->n; i++) {
		const struct mw_sample *v = &s->v[i];

		if (mw_sample_stays(v))
			to[(*n)++] = (struct mw_object_stay){ v->id, v->born, v->window,
							      v->weight * v->slot, mw_sample_class(v) };
	}
	free(s);
	return to;
}

size_t mw_objects_for_holders(struct mw_holders_object *to, size_t most)
{
	struct mw_samples *s = copy_living();
	size_t n = 0;

	for (uint32_t i = 0; s && i < s->n && n < most; i++) {
		const struct mw_sample *v = &s->v[i];

		if (mw_sample_stays(v))
			to[n++] = (struct mw_holders_object){ v->object, v->id,
							      whole_at_least_one(v->weight),
							      whole_at_least_one(v->weight * v->slot) };
	}
	free(s);
	return n;
}

/* --- classes --------------------------------------------------------------------------------------- */

static bool is_one_of(uint32_t id, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static int most_bytes(const void *a, const void *b)
{
	const struct mw_object_class *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

size_t mw_objects_classes(const uint32_t *ids, size_t n, struct mw_object_class *to, size_t most)
{
	struct mw_samples *s = copy_living();
	struct mw_object_class *all = s ? calloc(MW_CLASSES + 1, sizeof(*all)) : NULL;
	size_t found = 0;

	for (uint32_t i = 0; all && i < s->n; i++) {
		const struct mw_sample *v = &s->v[i];
		struct mw_object_class *c = &all[v->class <= MW_CLASSES ? v->class : 0];

		if (!mw_sample_stays(v) || !is_one_of(v->id, ids, n))
			continue;
		c->name = mw_sample_class(v);
		c->samples++;
		c->objects += whole_at_least_one(v->weight);
		c->bytes += whole_at_least_one(v->weight * v->slot);
	}
	if (all)
		qsort(all, MW_CLASSES + 1, sizeof(*all), most_bytes);
	while (all && found < most && found <= MW_CLASSES && all[found].samples) {
		to[found] = all[found];
		found++;
	}
	free(all);
	free(s);
	return found;
}

/* --- once a second --------------------------------------------------------------------------------- */

/* Can this process be sampled? It may be too early to tell: false, and no reason. */
static bool can(const struct mw_api *api)
{
	static bool found;
	static char why[96];
	const char *missing;
	struct mw_stats stats;

	if (found || unavailable)
		return found;
	if (!api->object_here || !api->ask_ruby || !api->while_ruby || !api->sleep_until) {
		unavailable = "the tracker is an older one";
		return false;
	}
	api->stats(&stats);
	if (!strcmp(stats.ruby_lookup, "none"))
		unavailable = "no Ruby runs in this process";
	if (strcmp(stats.ruby_lookup, "fast") && strcmp(stats.ruby_lookup, "public"))
		return false;
	found = mw_objects_ruby_find(&missing);
	if (!found) {
		snprintf(why, sizeof(why), "this Ruby has no function %s", missing);
		unavailable = why;
	} else if (!mw_objects_ruby.rb_gc_obj_slot_size && api->options()->objects != MW_OBJECTS_ON) {
		/* its hooks want what a new Ractor's thread doesn't have yet */
		unavailable = "Ruby 3.1 crashes if a Ractor starts in a window: objects:on samples anyway";
		found = false;
	}
	return found;
}

void mw_objects_second(const struct mw_api *api, uint32_t up)
{
	if (api->options()->objects == MW_OBJECTS_OFF || !can(api))
		return;
	mw_windows_second(up);
	if (mw_windows_begun(&unavailable) && !unavailable)
		publish(api);
	if (!unavailable)
		keep_asking(api);
}

void mw_objects_state(const struct mw_api *api, struct mw_objects_state *to)
{
	const char *why;

	*to = (struct mw_objects_state){
		.is = "on",
		.why = "",
		.noted = mw_windows_noted(),
		.samples = mw_samples_n(),
		.ns = mw_windows_ns() + mw_deaths_ns() + mw_get(&asking_ns),
		.missed = mw_deaths_missed()
	};
	if (api->options()->objects == MW_OBJECTS_OFF) {
		to->is = "off";
	} else if (unavailable) {
		to->is = "unavailable";
		to->why = unavailable;
	} else if (!mw_windows_begun(&why)) {
		to->is = "starting";
	}
}
