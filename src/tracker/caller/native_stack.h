/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * native_stack.h - the native frames of an allocation.
 *
 * In a Ruby thread these are the ones between malloc and the innermost Ruby code: further out there
 * is one run of the interpreter for each row of Ruby frames, and nothing that Ruby's own frames
 * don't say. Where they end is learned. The interpreter's function is on the native stack as often
 * as Ruby's stack has frames that end a run of it. Several stacks tell which function that is.
 * Until then, and if none fits, a Ruby thread has no native frames here. Code without call frame
 * information (YJIT's) ends them, too.
 *
 * With the lock of tracker/stacks/stacks.h.
 */
#pragma once

#include "tracker/stacks/stacks.h"

/* Once, before any thread may sample. */
void mw_native_init(void);
/*
 * Appends the keys of native frames, innermost first. runs: how many runs of the interpreter this
 * thread's stack has (tracker/caller/ruby/ruby_stack.h); 0: it is in no Ruby code; -1: not known.
 */
void mw_native_walk(struct mw_walk *, int runs);
