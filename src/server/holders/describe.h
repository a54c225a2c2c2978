/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe.h - names for objects. They never show contents. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MW_LABEL = 200 };

/* An object counts under this number as a holder: the same number, the same name. */
uintptr_t mw_holder_key(uintptr_t object);
/* Its class, "(method)", "(instruction sequence)", ... */
void mw_holder_label(uintptr_t object, char to[MW_LABEL]);
/* The same as a step of a path: a class or module by its own name. */
uintptr_t mw_step_key(uintptr_t object);
void mw_step_label(uintptr_t object, char to[MW_LABEL]);
/* A String's bytes, without what isn't printable; false: it isn't one, or is empty. For names only. */
bool mw_label_string(uintptr_t string, char *to, size_t size);
