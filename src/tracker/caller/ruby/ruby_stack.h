/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ruby_stack.h - the Ruby frames of the calling thread, and their names.
 *
 * The keys are read off the VM's stack as frame.h reads a line, in any thread and at any time. What
 * a frame points to is followed only with the GVL and outside of GC: a compaction moves it, and
 * another thread's collection may free it. The names come from Ruby's public calls then.
 *
 * The calling thread is busy (tracker/table/shard.h).
 */
#pragma once

#include "tracker/stacks/stacks.h"

/* Appends the keys of this thread's frames, innermost first. Nothing, if lines aren't found the fast way. */
void mw_ruby_walk(struct mw_walk *);
/*
 * How many runs of the interpreter this thread's stack has: frames that end one. 0: the thread is in
 * no Ruby code; -1: not known.
 */
int mw_ruby_runs(void);
/*
 * With the lock of stacks.h: names those of this thread's frames that lack a text, if Ruby can be
 * asked here and now.
 */
void mw_ruby_name_frames(void);
