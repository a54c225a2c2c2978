/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruby_calls.h - those of Ruby's exported functions that sampling calls, beside those of holders/ruby.h.
 */
#pragma once

#include "server/holders/ruby.h"

/* Ruby's public events. */
enum { MW_EVENT_NEWOBJ = 0x100000, MW_EVENT_GC_END_MARK = 0x800000, MW_EVENT_GC_EXIT = 0x4000000 };

/* Ruby's public rb_data_type_t, as far as it is used. The rest of it grew in 4.1, and is zero here. */
struct mw_ruby_data_type {
	const char *name;
	void (*mark)(void *);
	void (*free)(void *);
	size_t (*size)(const void *);
	void (*compact)(void *);
	void *none[16];
};

/* name, result, parameters, required? */
#define MW_FOR_EACH_OBJECTS_CALL(X)                                                 \
	X(rb_tracepoint_new, mw_ruby_value,                                         \
	  (mw_ruby_value, uint32_t, void (*)(mw_ruby_value, void *), void *), true) \
	X(rb_tracepoint_enable, mw_ruby_value, (mw_ruby_value), true)               \
	X(rb_tracepoint_disable, mw_ruby_value, (mw_ruby_value), true)              \
	X(rb_tracearg_from_tracepoint, void *, (mw_ruby_value), true)               \
	X(rb_tracearg_event_flag, uint32_t, (void *), true)                         \
	X(rb_tracearg_object, mw_ruby_value, (void *), true)                        \
	X(rb_gc_register_address, void, (mw_ruby_value *), true)                    \
	X(rb_gc_location, mw_ruby_value, (mw_ruby_value), true)                     \
	X(rb_gc_stat, size_t, (mw_ruby_value), true)                                \
	X(rb_id2sym, mw_ruby_value, (uintptr_t), true)                              \
	X(rb_data_typed_object_wrap, mw_ruby_value,                                 \
	  (mw_ruby_value, void *, const struct mw_ruby_data_type *), true)          \
	X(rb_obj_id, mw_ruby_value, (mw_ruby_value), true)                          \
	X(rb_gc_latest_gc_info, mw_ruby_value, (mw_ruby_value), true)               \
	X(rb_gc_obj_slot_size, size_t, (mw_ruby_value), false)                      \
	X(rb_objspace_marked_object_p, int, (mw_ruby_value), false)                 \
	X(rb_objspace_garbage_object_p, int, (mw_ruby_value), false)

struct mw_objects_ruby {
#define X(name, result, params, needed) result(*name) params;
	MW_FOR_EACH_OBJECTS_CALL(X)
#undef X
	mw_ruby_value allocated, majors, freed_pages, compactions,
		malloc_increase; /* symbols, keys of GC.stat; 0: Ruby has no such key */
	mw_ruby_value state, sweeping; /* symbols: a key of GC.latest_gc_info, and a value */
};
extern struct mw_objects_ruby mw_objects_ruby;
/* Is this a Ruby up to 3.3, where noted objects are known by their object_id (deaths.h)? After mw_objects_ruby_find. */
static inline bool mw_objects_ruby_by_identity(void)
{
	return mw_objects_ruby.rb_objspace_marked_object_p != NULL;
}

/* Of GC.stat, by one of the keys above. With the GVL. 0: Ruby has no such key. */
static inline size_t mw_objects_ruby_stat(mw_ruby_value key)
{
	return key ? mw_objects_ruby.rb_gc_stat(key) : 0;
}

/* False: *missing is one that is required. Any thread, once Ruby is up. */
bool mw_objects_ruby_find(const char **missing);
/* With the GVL. False: Ruby's GC.stat lacks what is needed. */
bool mw_objects_ruby_learn(void);
