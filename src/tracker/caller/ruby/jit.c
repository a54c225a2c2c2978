/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jit.c - see jit.h. */
#include "jit.h"

#include "look.h"
#include "safe_read.h"

enum {
	WORD = sizeof(uintptr_t),
	CFP_JIT_RETURN = 48, /* bytes */
	C_FUNCTION = 1,
	NEAR = 48 /* C functions may lie above it */
};

/* What a frame with this jit_return leads to. Nothing: a C function's, or it can't be read. */
static struct mw_ruby_frame light(uintptr_t jit_return)
{
	struct mw_ruby_frame f = { 0, 0 };
	uintptr_t at;

	if (jit_return == C_FUNCTION || !mw_pointer_like(jit_return) || !mw_peek(jit_return - WORD, &at) ||
	    !mw_pointer_like(at) || !mw_peek(at, &f.pc) || !mw_peek(at + WORD, &f.iseq))
		return (struct mw_ruby_frame){ 0, 0 };
	return f;
}

struct mw_ruby_frame mw_zjit_frame(uintptr_t cfp, struct mw_ruby_frame raw)
{
	uintptr_t jit_return;

	/* where Ruby has such frames, it has this function */
	if (!mw_rb.rb_zjit_jit_frame_update_references || !mw_peek(cfp + CFP_JIT_RETURN, &jit_return) ||
	    !jit_return)
		return raw;
	return light(jit_return);
}

/* The GC sees no frame without its pc; and it moves iseqs, whose instructions aren't found meanwhile. */
static bool in_gc(void)
{
	return mw_rb.ruby_thread_has_gvl_p() && mw_rb.rb_during_gc();
}

struct mw_ruby_frame mw_zjit_running(uintptr_t cfp, struct mw_ruby_frame raw)
{
	struct mw_ruby_frame f = mw_zjit_frame(cfp, raw);

	if (!f.iseq || !f.pc || mw_ruby_code(f.iseq, mw_ruby_body, f.pc) || in_gc())
		return f;
	return (struct mw_ruby_frame){ 0, 0 };
}

/* Is the innermost frame of Ruby code one that Ruby names, though its pc isn't its own? */
static bool innermost_is_stale(void)
{
	const char *ec = mw_ruby_reads() && mw_zjit_runs() ? mw_ruby_ec() : NULL, *end, *cfp;
	struct mw_ruby_frame f = { 0, 0 };

	cfp = ec ? mw_ruby_stack(ec, &end) : NULL;
	for (; cfp && cfp < end && !f.iseq; cfp += mw_ruby.frame_size)
		f = mw_zjit_frame((uintptr_t)cfp, mw_ruby_words(cfp));
	return f.iseq && f.pc && !mw_ruby_code(f.iseq, mw_ruby_body, f.pc);
}

int mw_ruby_named(int limit, mw_value *values, int *lines)
{
	return mw_rb.rb_profile_frames(innermost_is_stale(), limit, values, lines);
}

int mw_ruby_innermost(const char **path)
{
	mw_value values[NEAR];
	int lines[NEAR], n;

	if (!mw_zjit_runs()) {
		*path = mw_rb.rb_sourcefile();
		return mw_rb.rb_sourceline();
	}
	/* these would look for the line of any pc; this one doesn't */
	n = mw_ruby_named(NEAR, values, lines);
	for (int i = 0; i < n; i++)
		if ((*path = mw_ruby_path(values[i])))
			return lines[i];
	*path = NULL;
	return 0;
}
