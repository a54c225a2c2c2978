/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deaths.c - see deaths.h.
 *
 * From Ruby 3.4 on a hook tells. Garbage is known only while pages wait to be swept, or once they are. The moment is the
 * end of the step in which marking ended. If sweeping ended in it, too, pages without objects may be unmapped. If it
 * compacted the heap, dead objects' slots may have others: then only what was moved is known to live.
 *
 * Up to 3.3 any hook on the heap makes Ruby take the slow way for each new object, also outside of windows. So noted
 * objects get an object_id. Ruby forgets it with the object, and the next object in the slot has none. A job now and then
 * looks which objects still have theirs. It may do so after any number of collections.
 */
#include "deaths.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "shared/sys/atomics.h"
#include "shared/sys/clock.h"
#include "shared/sys/sys.h"
#include "ruby.h"
#include "samples.h"

static const struct mw_objects_ruby *const rb = &mw_objects_ruby;

static mw_ruby_value tracepoint, owner; /* Ruby keeps them: rb_gc_register_address */
static const struct mw_api *api;
static bool has_marked; /* in the step of a collection that is under way */
static size_t pages, compactions; /* as of the end of marking */
static uint64_t missed; /* relaxed */
static uintptr_t has_id; /* the flag of an object that was given an object_id; 0: the hook is in use. Release, acquire */
static bool look_wanted; /* relaxed */
static size_t looked_at; /* GC.count at the last look; relaxed */
static uint64_t ns; /* of all looks; relaxed */

/* Of an address and the page that it may lie in. */
static int within(const void *a, const void *b)
{
	const uintptr_t *p = a;
	const struct mw_heap_page *page = b;

	return *p < page->addr ? -1 : *p >= page->addr + page->bytes;
}

static int compare(const void *a, const void *b)
{
	const struct mw_heap_page *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool can_be_read(uintptr_t p)
{
	uintptr_t word;
	struct iovec here = { &word, sizeof(word) }, there = { (void *)p, sizeof(word) };

	return process_vm_readv(mw_sys_getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof(word);
}

/* Heap pages were unmapped: forgets what lay in them. The tracker has a list of pages, unless it was attached. */
static void forget_unmapped(struct mw_samples *s)
{
	struct mw_stats stats;
	struct mw_heap *h;

	api->quiet_enter(); /* qsort may allocate */
	api->stats(&stats);
	h = stats.heap_known ? api->heap() : NULL;
	if (h)
		qsort(h->v, h->n, sizeof(*h->v), compare);
	for (uint32_t i = s->n; i-- > 0;)
		if (h ? !bsearch(&s->v[i].object, h->v, h->n, sizeof(*h->v), within) :
			!can_be_read(s->v[i].object))
			mw_sample_drop(s, i);
	if (h)
		api->heap_free(h);
	api->quiet_leave();
}

static bool is_dead(const struct mw_sample *s)
{
	enum mw_ruby_type type = mw_ruby_type(s->object);

	/* 4.1 doesn't say so */
	return type == MW_T_NONE || type == MW_T_ZOMBIE || type == MW_T_MOVED ||
	       rb->rb_objspace_garbage_object_p(s->object);
}

static uint16_t more(uint16_t v, size_t by)
{
	return by < (size_t)(UINT16_MAX - v) ? (uint16_t)(v + by) : UINT16_MAX;
}

static void outlives(struct mw_sample *s, bool major)
{
	s->moved = false;
	s->survived = more(s->survived, 1);
	s->majors = more(s->majors, major);
}

/* An object from before a collection that nobody saw may have been freed, and its slot used again. */
static void forget_doubtful(struct mw_samples *s, uint32_t now)
{
	for (uint32_t i = s->n; i-- > 0;)
		if (now - s->v[i].count > 1)
			mw_sample_drop(s, i);
}

/* A compaction has put objects into slots of dead ones: an object that it didn't move itself may be another one. */
static void forget_unmoved(struct mw_samples *s)
{
	for (uint32_t i = s->n; i-- > 0;)
		if (!s->v[i].moved)
			mw_sample_drop(s, i);
}

static void walk(bool unmapped, bool compacted)
{
	struct mw_samples *s = mw_samples_begin();
	size_t now = mw_walk_ruby.rb_gc_count(), now_majors = rb->rb_gc_stat(rb->majors);
	bool major = now_majors != s->majors;

	if (now - s->count > 1) {
		mw_add(&missed, now - s->count - 1);
		forget_doubtful(s, (uint32_t)now);
	}
	s->count = now;
	s->majors = now_majors;
	if (unmapped)
		forget_unmapped(s);
	if (compacted)
		forget_unmoved(s);
	for (uint32_t i = s->n; i-- > 0;) {
		if (is_dead(&s->v[i]))
			mw_sample_drop(s, i);
		else
			outlives(&s->v[i], major);
	}
	mw_samples_end();
}

/* 0: Ruby has no such key. */
static size_t stat_of(mw_ruby_value key)
{
	return key ? rb->rb_gc_stat(key) : 0;
}

static void collecting(mw_ruby_value tp, void *unused)
{
	uint32_t event = rb->rb_tracearg_event_flag(rb->rb_tracearg_from_tracepoint(tp));

	(void)unused;
	if (event == MW_EVENT_GC_END_MARK) {
		has_marked = true;
		pages = stat_of(rb->freed_pages);
		compactions = stat_of(rb->compactions);
		return;
	}
	if (has_marked)
		walk(!rb->freed_pages || stat_of(rb->freed_pages) != pages,
		     stat_of(rb->compactions) != compactions);
	has_marked = false;
}

/* --- up to Ruby 3.3 ---------------------------------------------------------------------------- */

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

/* It was alive when Ruby had begun `now` collections, `majors` of them major ones. */
static void lives(struct mw_sample *s, size_t now, size_t majors)
{
	s->survived = more(0, (uint32_t)now - s->count);
	s->majors = more(0, (uint32_t)majors - s->majors_then);
	s->moved = false;
}

static bool is_marked(uintptr_t object)
{
	return rb->rb_objspace_marked_object_p(object);
}

static void look(size_t now)
{
	size_t majors = rb->rb_gc_stat(rb->majors), freed = stat_of(rb->freed_pages);
	struct mw_samples *s = mw_samples_begin();

	if (!rb->freed_pages || freed != pages)
		forget_unmapped(s);
	for (uint32_t i = s->n; i-- > 0;) {
		if (is_gone(&s->v[i]))
			mw_sample_drop(s, i);
		else
			lives(&s->v[i], now, majors);
	}
	s->count = now;
	s->majors = majors;
	mw_samples_name(s, rb->rb_gc_latest_gc_info(rb->state) == rb->sweeping ? is_marked : NULL);
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

static void count(void *to)
{
	*(struct collections *)to =
		(struct collections){ mw_walk_ruby.rb_gc_count(), rb->rb_gc_stat(rb->majors) };
}

size_t mw_deaths_count(void)
{
	struct collections n = { 0 };

	return __atomic_load_n(&has_id, __ATOMIC_ACQUIRE) && api->while_ruby(count, &n) ? n.all : 0;
}

void mw_deaths_since(struct mw_samples *copy)
{
	struct collections now;
	uintptr_t words[MW_READ];

	if (!__atomic_load_n(&has_id, __ATOMIC_ACQUIRE) || !api->while_ruby(count, &now) ||
	    now.all == copy->count)
		return;
	for (size_t end = copy->n; end; end = end > MW_READ ? end - MW_READ : 0) {
		size_t from = end > MW_READ ? end - MW_READ : 0;

		read_words(&copy->v[from], end - from, words);
		for (size_t i = end; i-- > from;) {
			if (words[i - from] & has_id)
				lives(&copy->v[i], now.all, now.majors);
			else
				copy->v[i] = copy->v[--copy->n];
		}
	}
}

void mw_deaths_look(void)
{
	size_t now = mw_walk_ruby.rb_gc_count();
	uint64_t from;

	if (!__atomic_exchange_n(&look_wanted, false, __ATOMIC_RELAXED) || now == mw_get(&looked_at))
		return;
	from = mw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	look(now);
	mw_set(&looked_at, now);
	mw_set(&ns, mw_get(&ns) + mw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from);
}

bool mw_deaths_want_look(uint64_t cpu, bool idle)
{
	enum { SHARE = 500 };
	size_t now = idle || cpu / SHARE >= mw_get(&ns) ? mw_deaths_count() : 0;

	if (!now || now == mw_get(&looked_at))
		return false;
	__atomic_store_n(&look_wanted, true, __ATOMIC_RELAXED);
	return true;
}

uint64_t mw_deaths_ns(void)
{
	return mw_get(&ns);
}

/* --- both -------------------------------------------------------------------------------------- */

/* A compaction moves objects. */
static void moved(void *unused)
{
	struct mw_samples *s = mw_samples_begin();

	(void)unused;
	for (uint32_t i = 0; i < s->n; i++) {
		uintptr_t to = rb->rb_gc_location(s->v[i].object);

		s->v[i].moved |= to != s->v[i].object;
		s->v[i].object = to;
	}
	mw_samples_end();
}

bool mw_deaths_watch(const struct mw_api *a)
{
	static const struct mw_ruby_data_type type = { .name = "mwrap/objects", .compact = moved };
	struct mw_samples *s;

	api = a;
	s = mw_samples_begin();
	s->count = mw_walk_ruby.rb_gc_count();
	s->majors = rb->rb_gc_stat(rb->majors);
	mw_samples_end();
	rb->rb_gc_register_address(&owner);
	owner = rb->rb_data_typed_object_wrap(0, &owner, &type); /* no class: the app never meets it */
	if (mw_objects_ruby_by_identity())
		return learn_flag(owner);
	rb->rb_gc_register_address(&tracepoint);
	tracepoint = rb->rb_tracepoint_new(0, MW_EVENT_GC_END_MARK | MW_EVENT_GC_EXIT, collecting, NULL);
	(void)rb->rb_tracepoint_enable(tracepoint);
	return true;
}

uint64_t mw_deaths_missed(void)
{
	return mw_get(&missed);
}
