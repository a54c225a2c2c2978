/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit.h - the frames of code that Ruby's compilers made, YJIT and ZJIT.
 *
 * Such code writes a frame's words late, or not at all:
 *
 *  - It pushes a frame without its pc, and may allocate before it writes the pc: YJIT in 3.2, ZJIT in
 *    4.0. The word has what an earlier frame left there. Ruby may crash where it looks for its line.
 *  - With ZJIT, from 4.1 on, a frame with a jit_return has neither pc nor iseq of its own. That word is
 *    1 for a C function's frame. Else it leads to the machine stack, where the word before it points to
 *    {pc, iseq}. YJIT puts an address of code into jit_return, which is never followed.
 *
 * So frames are read here once ZJIT runs, or a frame without its own pc was seen (MW_RUBY_JIT), and a pc
 * counts only if it lies in its frame's instructions. A frame without such a pc is passed over: its
 * caller's line is running.
 */
#pragma once

#include "api.h"
#include "frame.h"

/* Is ZJIT on? It stays on. */
static inline bool mw_zjit_runs(void)
{
	return mw_rb.rb_zjit_entry && __atomic_load_n(mw_rb.rb_zjit_entry, __ATOMIC_RELAXED);
}

/* Does YJIT run? Up to 3.3 a function tells, later a variable; what isn't exported tells nothing. Written at load. */
extern MW_HIDDEN bool (*mw_yjit_ask)(void);
extern MW_HIDDEN const bool *mw_yjit;
void mw_yjit_find(void);
static inline bool mw_yjit_runs(void)
{
	return mw_yjit_ask ? mw_yjit_ask() : mw_yjit && *mw_yjit;
}

static inline struct mw_ruby_frame mw_ruby_words(const char *cfp)
{
	return (struct mw_ruby_frame){ MW_AT(uintptr_t, cfp, MW_CFP_PC),
				       MW_AT(uintptr_t, cfp, MW_CFP_ISEQ) };
}

/* The frame at cfp, whose words there are `raw`. Any offsets: memory is read with care. */
struct mw_ruby_frame mw_jit_frame(uintptr_t cfp, struct mw_ruby_frame raw);
/* The same for a frame whose pc must lie in its instructions; else it is empty. */
struct mw_ruby_frame mw_jit_running(uintptr_t cfp, struct mw_ruby_frame raw);

/* The frame at cfp, of this thread's stack. */
static inline struct mw_ruby_frame mw_ruby_at(const char *cfp)
{
	struct mw_ruby_frame raw = mw_ruby_words(cfp);

	return mw_unlikely(mw_get(&mw_ruby.how) == MW_RUBY_JIT) ? mw_jit_running((uintptr_t)cfp, raw) : raw;
}

/*
 * The code of the frame at cfp, as Ruby's functions take it: its path is the code's own. rb_profile_frames names the
 * method around it, and code that is evaluated in a method may be of another file. named: what Ruby names there, the
 * answer where the frame has no code. Ruby aborts at other words.
 */
mw_value mw_ruby_code_at(const char *cfp, mw_value named);

/* The innermost frame of Ruby code from cfp on, or NULL. */
static inline const char *mw_ruby_frame(const char *cfp, const char *end)
{
	for (; cfp < end; cfp += mw_ruby.frame_size) {
		struct mw_ruby_frame f = mw_ruby_at(cfp);

		if (f.iseq && f.pc)
			return cfp;
	}
	return NULL;
}

/* Has the innermost frame of Ruby code no pc of its own yet? */
enum mw_jit_late {
	MW_JIT_NOT_LATE,
	MW_JIT_LATE_UNNAMED, /* it has none at all, so rb_profile_frames leaves it out */
	MW_JIT_LATE
};
enum mw_jit_late mw_jit_late(void);
/* Learns if rb_profile_frames can leave frames out: up to 3.3 its first parameter does nothing. */
void mw_jit_learn_start(const mw_value *values, int n);

/*
 * rb_profile_frames(0, …), without an innermost frame that has no pc of its own. With the GVL,
 * outside GC. lines: of the others.
 */
int mw_ruby_named(int limit, mw_value *values, int *lines);
/*
 * The path and line of the innermost frame of Ruby code, right for YJIT's, too. 0: it has no line;
 * path NULL: there is none. With the GVL, outside GC. Allocates nothing.
 */
int mw_ruby_innermost(const char **path);
