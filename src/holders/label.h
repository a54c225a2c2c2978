/* SPDX-License-Identifier: GPL-2.0-or-later */
/* label.h - names for objects and for what leads from one to the next. They never show contents. */
#ifndef MW_HOLDERS_LABEL_H
#define MW_HOLDERS_LABEL_H

#include <stddef.h>
#include <stdint.h>

enum { MW_LABEL = 200 };

/* What an object is counted under as a holder: the same number, the same name. */
uintptr_t mw_holder_key(uintptr_t object);
/* Its class, "(method)", "(instruction sequence)", ... */
void mw_holder_label(uintptr_t object, char to[MW_LABEL]);
/* The same as a step of a path: a class or module by its own name. */
uintptr_t mw_step_key(uintptr_t object);
void mw_step_label(uintptr_t object, char to[MW_LABEL]);
/* How `object` refers to `child`: ".@name", "::NAME", "[:name]"; empty: not known. */
void mw_edge_label(uintptr_t object, uintptr_t child, char to[MW_LABEL]);

#endif
