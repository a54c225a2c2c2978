/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * look.h - reads the VM's structures with care: whatever the offsets and
 * the words are, nothing is followed that can't be read (safe_read.h). For what
 * isn't known to be right: at the start, in checks, and before a pc is
 * remembered. For lines.c, find.c and verify.c.
 */
#ifndef MW_CALLER_RUBY_LOOK_H
#define MW_CALLER_RUBY_LOOK_H

#include "frame.h"
#include "api.h"

/* An execution context's stack of frames: cfp <= a frame's address < end. */
struct mw_ruby_stack {
	uintptr_t base, cfp, end;
};

struct mw_ruby_frame {
	uintptr_t pc, iseq;
};

/* Could it be a pointer to one of Ruby's structures? */
static inline bool mw_pointer_like(uintptr_t p)
{
	return p > 0xffff && p % sizeof(p) == 0 && p >> 47 == 0;
}

/* False: what is at ec doesn't look like an execution context. */
bool mw_ruby_read_stack(uintptr_t ec, struct mw_ruby_stack *);
/* The frame at `at`. False: it isn't whole. */
bool mw_ruby_read_frame(const struct mw_ruby_stack *, uintptr_t at, struct mw_ruby_frame *);
/* Where an iseq, whose body is at body_at in it, has its instructions, if pc is in them; else 0. */
uintptr_t mw_ruby_code(uintptr_t iseq, uint32_t body_at, uintptr_t pc);
/* A frame's path, as rb_profile_frames names frames; NULL: a C function's. No allocation, no raise. */
const char *mw_ruby_path(mw_value frame);
/* Of such a frame: the file that Ruby read its code from, NULL: none, the code was evaluated. */
const char *mw_ruby_file(mw_value frame);

/*
 * The self-check: what mw_ruby holds is tried on this thread's whole stack,
 * which must be what Ruby's public calls say that it is. With the GVL, outside
 * GC, in a Ruby thread. Allocates nothing, changes nothing.
 *
 *    1  right: frame by frame the same, and at least one is surely the same
 *    0  nothing is wrong, but nothing proves it either
 *   -1  wrong, and *why says what
 */
int mw_ruby_verify(const char **why);
/* Is GC.count read at `count`? Any pointer. */
bool mw_ruby_verify_count(const uint32_t *count);

#endif
