/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deaths.c - see deaths.h.
 *
 * Up to Ruby 3.3 the moment is the end of marking: a mark says that an object lives. Later Rubies tell garbage only
 * while pages wait to be swept, or once they are. The moment is the end of the step in which marking ended. If
 * sweeping ended in it, too, pages without objects may be unmapped. If it compacted the heap, dead objects' slots may have
 * others: then only what was moved is known to live.
 */
#include "deaths.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "shared/sys/atomics.h"
#include "shared/sys/sys.h"
#include "ruby.h"
#include "samples.h"

static const struct mw_objects_ruby *const rb = &mw_objects_ruby;

static mw_ruby_value tracepoint, owner; /* Ruby keeps them: rb_gc_register_address */
static const struct mw_api *api;
static bool has_marked; /* in the step of a collection that is under way */
static size_t pages, compactions; /* as of the end of marking */
static size_t count, majors; /* GC.count and that of major ones, as of the last walk */
static uint64_t missed; /* relaxed */

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

	if (type == MW_T_NONE || type == MW_T_ZOMBIE || type == MW_T_MOVED) /* 4.1 doesn't say so */
		return true;
	return rb->rb_objspace_marked_object_p ? !rb->rb_objspace_marked_object_p(s->object) :
						 rb->rb_objspace_garbage_object_p(s->object);
}

static void outlives(struct mw_sample *s, bool major)
{
	s->moved = false;
	if (s->survived < UINT16_MAX)
		s->survived++;
	if (major && s->majors < UINT16_MAX)
		s->majors++;
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
	bool major = now_majors != majors;

	if (now - count > 1) {
		mw_add(&missed, now - count - 1);
		forget_doubtful(s, (uint32_t)now);
	}
	count = now;
	majors = now_majors;
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
	if (event != MW_EVENT_GC_END_MARK) {
		if (has_marked)
			walk(!rb->freed_pages || stat_of(rb->freed_pages) != pages,
			     stat_of(rb->compactions) != compactions);
		has_marked = false;
	} else if (rb->rb_objspace_marked_object_p) {
		walk(false, false);
	} else {
		has_marked = true;
		pages = stat_of(rb->freed_pages);
		compactions = stat_of(rb->compactions);
	}
}

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

void mw_deaths_watch(const struct mw_api *a)
{
	static const struct mw_ruby_data_type type = { .name = "mwrap/objects", .compact = moved };
	uint32_t events = MW_EVENT_GC_END_MARK;

	api = a;
	if (!rb->rb_objspace_marked_object_p)
		events |= MW_EVENT_GC_EXIT;
	rb->rb_gc_register_address(&owner);
	owner = rb->rb_data_typed_object_wrap(0, &owner, &type); /* no class: the app never meets it */
	rb->rb_gc_register_address(&tracepoint);
	tracepoint = rb->rb_tracepoint_new(0, events, collecting, NULL);
	count = mw_walk_ruby.rb_gc_count();
	majors = rb->rb_gc_stat(rb->majors);
	(void)rb->rb_tracepoint_enable(tracepoint);
}

uint64_t mw_deaths_missed(void)
{
	return mw_get(&missed);
}
