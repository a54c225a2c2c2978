/* SPDX-License-Identifier: GPL-2.0-or-later */
/* imemo.h - two kinds of objects that Ruby has for itself, told by their flags as from 2.6 to 4.1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Is it a method's entry, as a frame of rb_profile_frames may be? With the GVL, outside of GC. Any word. */
bool mw_ruby_is_method(uintptr_t);
/* The same for instructions (an iseq). */
bool mw_ruby_is_iseq(uintptr_t);
