/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * edge.h - how one object refers to the next: by an instance variable, a class variable, a constant,
 * or a variable of a thread. These are names in the program's code; other hash keys are contents.
 *
 * A module's constants are copied into a table of Ruby's. The child can't allocate one, so the parent
 * does, before the fork; without it constants have no names.
 */
#pragma once

#include <stdint.h>

#include "describe.h"

/* In the parent, with the GVL. The collector may run. A child that is forked until the end has the table. */
void mw_edge_begin(void);
void mw_edge_end(void);

/*
 * In the child. `before` refers to `object`, or is 0; `object` refers to `child`. Text: ".@name",
 * "::@@name", "::NAME", "[:name]"; empty: not known. Edges of an object with the same key have the
 * same text.
 */
void mw_edge_label(uintptr_t before, uintptr_t object, uintptr_t child, char to[MW_LABEL]);
uintptr_t mw_edge_key(uintptr_t before, uintptr_t object, uintptr_t child);
