/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deaths.c - see deaths.h: the choice between the two ways, and what both need. */
#include "deaths.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "shared/sys/sys.h"
#include "ruby_calls.h"
#include "samples.h"

static const struct mw_objects_ruby *const rb = &mw_objects_ruby;
static mw_ruby_value owner; /* Ruby keeps it: rb_gc_register_address */
static const struct mw_api *api;

/* Of an address and the page that it may lie in. */
static int within(const void *a, const void *b)
{
	const uintptr_t *p = a;
	const struct mw_heap_page *page = b;

	return *p < page->addr ? -1 : *p >= page->addr + page->bytes;
}

static int compare_heap_pages(const void *a, const void *b)
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

/*
 * Heap pages were unmapped: forgets what lay in them. The tracker has a list of pages, unless it was attached. In a thread of
 * the app's, within a collection: nothing here may wait for what the server does, as api->stats would.
 */
void mw_deaths_unmapped(struct mw_samples *s)
{
	struct mw_heap *h;
	bool whole;

	api->quiet_enter(); /* qsort may allocate */
	h = api->heap();
	whole = h && h->whole && h->n > 0;
	if (whole)
		qsort(h->v, h->n, sizeof(*h->v), compare_heap_pages);
	for (uint32_t i = s->n; i-- > 0;)
		if (whole ? !bsearch(&s->v[i].object, h->v, h->n, sizeof(*h->v), within) :
			    !can_be_read(s->v[i].object))
			mw_sample_drop(s, i);
	if (h)
		api->heap_free(h);
	api->quiet_leave();
}

static uint16_t at_most(uint32_t v)
{
	return v < UINT16_MAX ? (uint16_t)v : UINT16_MAX;
}

void mw_deaths_outlived(struct mw_sample *s, size_t collections, size_t majors)
{
	s->survived = at_most((uint32_t)collections - s->count);
	s->majors = at_most((uint32_t)majors - s->majors_then);
	s->moved = false;
}

/* A compaction moves objects. */
static void moved(void *unused)
{
	struct mw_samples *s = mw_samples_begin();

	(void)unused;
	mw_deaths_unmapped(s); /* since the last look */
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
	mw_samples_as_of(s, mw_walk_ruby.rb_gc_count(), rb->rb_gc_stat(rb->majors));
	mw_samples_end();
	rb->rb_gc_register_address(&owner);
	owner = rb->rb_data_typed_object_wrap(0, &owner, &type); /* no class: the app never meets it */
	return mw_objects_ruby_by_identity() ? mw_deaths_by_ids(a, owner) : mw_deaths_by_hook();
}
