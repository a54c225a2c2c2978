/* SPDX-License-Identifier: GPL-2.0-or-later */
/* method_name.h - "JSON::Parser#parse": a method's name with its class, as Ruby 3.4 shows it. */
#pragma once

#include "api.h"

enum { MW_METHOD_NAME_MAX = 256 };

/*
 * Writes the name to `to`, which has MW_METHOD_NAME_MAX bytes, and returns its length. frame: of
 * rb_profile_frames; label: what Ruby calls it, "block in parse". 0: the class has no name, or isn't
 * known. With the GVL, outside of GC. Allocates nothing.
 */
size_t mw_ruby_method_name(mw_value frame, const char *label, char *to);
