/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deaths.c - see deaths.h: the choice between the two ways, and what a compaction moves. */
#include "deaths.h"

#include "ruby_calls.h"
#include "samples.h"

static const struct mw_objects_ruby *const rb = &mw_objects_ruby;
static mw_ruby_value owner; /* Ruby keeps it: rb_gc_register_address */

/* A compaction moves objects. */
static void moved(void *unused)
{
	struct mw_samples *s = mw_samples_begin();

	(void)unused;
	mw_samples_unmapped(s); /* since the last look */
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

	s = mw_samples_begin();
	mw_samples_as_of(s, mw_walk_ruby.rb_gc_count(), rb->rb_gc_stat(rb->majors));
	mw_samples_end();
	rb->rb_gc_register_address(&owner);
	owner = rb->rb_data_typed_object_wrap(0, &owner, &type); /* no class: the app never meets it */
	return mw_objects_ruby_by_identity() ? mw_deaths_by_ids(a, owner) : mw_deaths_by_hook();
}
