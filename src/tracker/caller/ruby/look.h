/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * look.h - reads the VM's structures with care.
 *
 * With any offsets and words, only readable memory is followed (safe_read.h). For offsets that may
 * be wrong: at the start, in checks, and before a pc is cached. For lines.c, find.c and verify.c.
 */
#pragma once

#include "frame.h"
#include "api.h"

/* An execution context's stack of frames: cfp <= a frame's address < end. */
struct mw_ruby_stack {
	uintptr_t base, cfp, end;
};

/* Could it be a pointer to one of Ruby's structures? */
static inline bool mw_pointer_like(uintptr_t p)
{
	return p > 0xffff && p % sizeof(p) == 0 && p >> MW_ADDRESS_BITS == 0;
}

/* Could these be the numbers of minor and of major collections, where GC.count is `count`? */
static inline bool mw_ruby_adds_up(uintptr_t minor, uintptr_t major, uint32_t count)
{
	return minor && major && minor < count && major < count && minor + major == count;
}

/* False: the memory at ec doesn't look like an execution context. */
bool mw_ruby_read_stack(uintptr_t ec, struct mw_ruby_stack *);
/* The frame at `at`. False: it isn't whole. */
bool mw_ruby_read_frame(const struct mw_ruby_stack *, uintptr_t at, struct mw_ruby_frame *);
/* The address of an iseq's instructions, if pc is in them; else 0. body_at: offset of its body. */
uintptr_t mw_ruby_code(uintptr_t iseq, uint32_t body_at, uintptr_t pc);
/* The block with a frame's instructions; NULL: none is there. *ref: its live record's; 0: none. */
const void *mw_ruby_code_block(const char *cfp, uint32_t *ref);
/* May pcs in this block, which has no record, be kept? Then its free will be noticed (adopted.h). */
bool mw_ruby_adopt(const void *code);
/* A Ruby String's bytes, with a NUL; NULL: it is none. */
const char *mw_ruby_text(mw_value string);
/* The path of a frame of rb_profile_frames; NULL: a C function's. No allocation, no raise. */
const char *mw_ruby_path(mw_value frame);
/* The file that Ruby read this frame's code from; NULL: none, the code was evaluated. */
const char *mw_ruby_file(mw_value frame);

/*
 * The self-check: tries mw_ruby's offsets on this thread's whole stack, and compares the frames
 * with those of Ruby's public calls. With the GVL, outside GC, in a Ruby thread. Allocates
 * nothing, changes nothing.
 *
 *    1  right: frame by frame the same, and at least one is surely the same
 *    0  nothing is wrong, but nothing proves it either
 *   -1  wrong; *why is the reason
 */
int mw_ruby_verify(const char **why);
/* Is GC.count read at `count`? Any pointer. */
bool mw_ruby_verify_count(const uint32_t *count);
/*
 * Where Ruby is asked for GC.count: looks if a word can be read instead (count.c). Each call may be
 * a step of that. With the GVL, outside GC, while lines are found the fast way.
 */
void mw_ruby_look_for_count(void);
