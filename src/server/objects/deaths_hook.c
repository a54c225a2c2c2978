/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deaths_hook.c - see deaths.h: from Ruby 3.4 on a hook tells.
 *
 * Garbage is known only while pages wait to be swept, or once they are. The moment is the end of the step in which
 * marking ended. If sweeping ended in it, too, pages without objects may be unmapped. If it compacted the heap, dead
 * objects' slots may have others: then only what was moved is known to live.
 */
#include "deaths.h"

#include "shared/sys/atomics.h"
#include "ruby_calls.h"
#include "samples.h"

static const struct mw_objects_ruby *const rb = &mw_objects_ruby;

static mw_ruby_value tracepoint; /* Ruby keeps it: rb_gc_register_address */
static bool has_marked; /* in the step of a collection that is under way */
static size_t pages, compactions; /* as of the end of marking */
static uint64_t missed; /* relaxed */

static bool is_dead(const struct mw_sample *s)
{
	enum mw_ruby_type type = mw_ruby_type(s->object);

	/* 4.1 doesn't say so */
	return type == MW_T_NONE || type == MW_T_ZOMBIE || type == MW_T_MOVED ||
	       rb->rb_objspace_garbage_object_p(s->object);
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

static void walk_samples(bool unmapped, bool compacted)
{
	struct mw_samples *s = mw_samples_begin();
	size_t now = mw_walk_ruby.rb_gc_count(), now_majors = rb->rb_gc_stat(rb->majors);

	if (now - s->count > 1) {
		mw_add(&missed, now - s->count - 1);
		forget_doubtful(s, (uint32_t)now);
	}
	mw_samples_as_of(s, now, now_majors);
	if (unmapped)
		mw_samples_unmapped(s);
	if (compacted)
		forget_unmoved(s);
	for (uint32_t i = s->n; i-- > 0;) {
		if (is_dead(&s->v[i]))
			mw_sample_drop(s, i);
		else
			mw_sample_outlived(&s->v[i], now, now_majors);
	}
	mw_samples_end();
}

static void collecting(mw_ruby_value tp, void *unused)
{
	uint32_t event = rb->rb_tracearg_event_flag(rb->rb_tracearg_from_tracepoint(tp));

	(void)unused;
	if (event == MW_EVENT_GC_END_MARK) {
		has_marked = true;
		pages = mw_objects_ruby_stat(rb->freed_pages);
		compactions = mw_objects_ruby_stat(rb->compactions);
		return;
	}
	if (has_marked)
		walk_samples(!rb->freed_pages || mw_objects_ruby_stat(rb->freed_pages) != pages,
			     mw_objects_ruby_stat(rb->compactions) != compactions);
	has_marked = false;
}

bool mw_deaths_by_hook(void)
{
	rb->rb_gc_register_address(&tracepoint);
	tracepoint = rb->rb_tracepoint_new(0, MW_EVENT_GC_END_MARK | MW_EVENT_GC_EXIT, collecting, NULL);
	(void)rb->rb_tracepoint_enable(tracepoint);
	return true;
}

uint64_t mw_deaths_missed(void)
{
	return mw_get(&missed);
}
