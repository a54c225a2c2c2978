/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api.h - Ruby's exported functions that the tracker calls, found by dlsym.
 *
 * All may be missing. They may be called:
 *   anywhere once the VM is up      gc_count, has_gvl, during_gc, and
 *                                   postponed_job_trigger, _register_one
 *   with the GVL, outside GC        the rest
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/sys/compiler.h"

typedef uintptr_t mw_value; /* Ruby's VALUE */

/* name, result, parameters, required? */
#define MW_FOR_EACH_RUBY(X)                                                                    \
	X(rb_gc_count, size_t, (void), true)                                                   \
	X(rb_during_gc, int, (void), true)                                                     \
	X(ruby_thread_has_gvl_p, int, (void), true)                                            \
	X(rb_thread_current, mw_value, (void), true)                                           \
	X(rb_sourcefile, const char *, (void), true)                                           \
	X(rb_sourceline, int, (void), true)                                                    \
	X(rb_profile_frames, int, (int, int, mw_value *, int *), true)                         \
	X(rb_profile_frame_path, mw_value, (mw_value), true)                                   \
	X(rb_profile_frame_absolute_path, mw_value, (mw_value), true)                          \
	X(rb_profile_frame_label, mw_value, (mw_value), false)                                 \
	X(rb_profile_frame_method_name, mw_value, (mw_value), false)                           \
	X(rb_mod_name, mw_value, (mw_value), false)                                            \
	X(rb_class_attached_object, mw_value, (mw_value), false)                               \
	X(rb_attr_get, mw_value, (mw_value, uintptr_t), false)                                 \
	X(rb_intern, uintptr_t, (const char *), false)                                         \
	X(rb_string_value_ptr, char *, (volatile mw_value *), true)                            \
	X(ruby_vm_at_exit, void, (void (*)(void *)), true)                                     \
	X(rb_set_end_proc, void, (void (*)(mw_value), mw_value), false)                        \
	X(rb_postponed_job_preregister, unsigned, (unsigned, void (*)(void *), void *), false) \
	X(rb_postponed_job_trigger, void, (unsigned), false)                                   \
	X(rb_postponed_job_register_one, int, (unsigned, void (*)(void *), void *), false)     \
	X(rb_gc_get_objspace, void *, (void), false)                                           \
	X(rb_zjit_jit_frame_update_references, void, (void *), false)

struct mw_ruby_api {
#define X(name, result, params, needed) result(*name) params;
	MW_FOR_EACH_RUBY(X)
#undef X
	const mw_value *rb_cObject;
	void *const *rb_zjit_entry; /* not NULL: ZJIT runs */
	const mw_value *rb_cComplex; /* not 0: the VM is up, since Ruby defines it late at boot */
};
extern MW_HIDDEN struct mw_ruby_api mw_rb;

/* May this thread use the public calls now? */
bool mw_ruby_may_ask(void);

/*
 * find.c: finds the execution context and the offsets. Under the GVL, outside GC, with the VM up.
 *    1  found: mw_ruby is filled in, and must be verified (look.h)
 *    0  no frame of Ruby code yet: try again
 *   -1  can't be found in this Ruby; *why is the reason
 */
int mw_ruby_find(const char **why);
/* Where GC.count may be, to be verified; NULL: only rb_gc_count has it. With the VM up. */
const uint32_t *mw_ruby_find_count(void);
