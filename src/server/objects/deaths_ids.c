/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deaths_ids.c - see deaths.h: up to Ruby 3.3 noted objects have an object_id.
 *
 * There any hook on the heap makes Ruby take the slow way for each new object, also outside of windows. Ruby forgets an
 * object_id with its object, and the next object in the slot has none. A job now and then looks which objects still have
 * theirs. It may do so after any number of collections.
 */
#include "deaths.h"

#include <errno.h>
#include <sys/uio.h>

#include "shared/sys/atomics.h"
#include "shared/sys/clock.h"
#include "shared/sys/sys.h"
#include "ruby_calls.h"
#include "samples.h"

static const struct mw_objects_ruby *const rb = &mw_objects_ruby;

static const struct mw_api *api;
static size_t pages; /* freed ones, as of the last look */
static uintptr_t has_id; /* the flag of an object that was given an object_id; 0: another way is in use. Release, acquire */
static bool look_wanted; /* relaxed */
static uint64_t ns; /* of all looks; relaxed */

static bool learn_flag(mw_ruby_value object)
{
	uintptr_t before = mw_ruby_word(object, 0), flag;

	(void)rb->rb_obj_id(object);
	flag = mw_ruby_word(object, 0) ^ before;
	if (flag & (flag - 1))
		return false;
	__atomic_store_n(&has_id, flag, __ATOMIC_RELEASE);
	return flag != 0;
}

void mw_deaths_identify(void)
{
	struct mw_samples *s;

	if (!has_id)
		return;
	s = mw_samples_begin();
	for (uint32_t i = s->n; i-- > 0;) {
		struct mw_sample *v = &s->v[i];

		/* an id may take memory, and so begin a collection */
		if (!v->identity && v->count == (uint32_t)mw_walk_ruby.rb_gc_count())
			v->identity = rb->rb_obj_id(v->object);
		if (!v->identity)
			mw_sample_drop(s, i);
	}
	mw_samples_end();
}

/* A dead object that isn't swept yet isn't gone: a later look, before the next collection can end, finds it gone. */
static bool is_gone(const struct mw_sample *s)
{
	return mw_ruby_type(s->object) == MW_T_ZOMBIE || !(mw_ruby_word(s->object, 0) & has_id) ||
	       rb->rb_obj_id(s->object) != s->identity;
}

static bool is_marked(uintptr_t object)
{
	return rb->rb_objspace_marked_object_p(object);
}

/* From the first object that is looked at until all have names, nothing may allocate: that frees what has died. */
static void look_for_deaths(size_t now)
{
	bool sweeping = rb->rb_gc_latest_gc_info(rb->state) == rb->sweeping;
	size_t majors = rb->rb_gc_stat(rb->majors), freed = mw_objects_ruby_stat(rb->freed_pages);
	struct mw_samples *s = mw_samples_begin();

	if (!rb->freed_pages || freed != pages)
		mw_samples_unmapped(s);
	for (uint32_t i = s->n; i-- > 0;) {
		if (is_gone(&s->v[i]))
			mw_sample_drop(s, i);
		else
			mw_sample_outlived(&s->v[i], now, majors);
	}
	mw_samples_as_of(s, now, majors);
	mw_samples_name(s, sweeping ? is_marked : NULL);
	mw_samples_end();
	pages = freed;
}

/* words[i]: the first one of v[i], or 0 if it is no longer mapped. At most MW_READ of them. */
enum { MW_READ = 512 };
static void read_words(const struct mw_sample *v, size_t n, uintptr_t words[MW_READ])
{
	struct iovec here[MW_READ], there[MW_READ];
	size_t done = 0;

	for (size_t i = 0; i < n; i++) {
		words[i] = 0;
		here[i] = (struct iovec){ &words[i], sizeof(words[i]) };
		there[i] = (struct iovec){ (void *)v[i].object, sizeof(words[i]) };
	}
	while (done < n) {
		ssize_t bytes = process_vm_readv(mw_sys_getpid(), &here[done], n - done, &there[done],
						 n - done, 0);

		if (bytes < 0 && errno != EFAULT) /* refused: nothing is known */
			words[done] = has_id;
		done += bytes > 0 ? (size_t)bytes / sizeof(*words) : 1;
	}
}

/* How many collections Ruby has begun. */
struct collections {
	size_t all, majors;
};

static void count_collections(void *to)
{
	*(struct collections *)to =
		(struct collections){ mw_walk_ruby.rb_gc_count(), rb->rb_gc_stat(rb->majors) };
}

size_t mw_deaths_count(void)
{
	struct collections n = { 0 };

	return __atomic_load_n(&has_id, __ATOMIC_ACQUIRE) && api->while_ruby(count_collections, &n) ?
		       n.all :
		       0;
}

void mw_deaths_since(struct mw_samples *copy)
{
	struct collections now;
	uintptr_t words[MW_READ];

	if (!__atomic_load_n(&has_id, __ATOMIC_ACQUIRE) || !api->while_ruby(count_collections, &now) ||
	    now.all == copy->count)
		return;
	for (size_t end = copy->n; end; end = end > MW_READ ? end - MW_READ : 0) {
		size_t from = end > MW_READ ? end - MW_READ : 0;

		read_words(&copy->v[from], end - from, words);
		for (size_t i = end; i-- > from;) {
			if (words[i - from] & has_id)
				mw_sample_outlived(&copy->v[i], now.all, now.majors);
			else
				copy->v[i] = copy->v[--copy->n];
		}
	}
}

void mw_deaths_look(void)
{
	size_t now = mw_walk_ruby.rb_gc_count();
	uint64_t from;

	if (!__atomic_exchange_n(&look_wanted, false, __ATOMIC_RELAXED) || now == mw_samples_collections())
		return;
	from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	look_for_deaths(now);
	mw_set(&ns, mw_get(&ns) + mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from);
}

bool mw_deaths_want_look(uint64_t cpu, bool idle)
{
	enum { SHARE = 500 };
	size_t now = idle || cpu / SHARE >= mw_get(&ns) ? mw_deaths_count() : 0;

	if (!now || now == mw_samples_collections())
		return false;
	__atomic_store_n(&look_wanted, true, __ATOMIC_RELAXED);
	return true;
}

bool mw_deaths_by_ids(const struct mw_api *a, mw_ruby_value object)
{
	api = a;
	return learn_flag(object);
}

uint64_t mw_deaths_ns(void)
{
	return mw_get(&ns);
}
