/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit.h"

#include <dlfcn.h>
#include <link.h>

#include "imemo.h"
#include "look.h"
#include "safe_read.h"
#include "state.h"

enum {
	WORD = sizeof(uintptr_t),
	CFP_JIT_RETURN = 48, /* bytes */
	C_FUNCTION = 1,
	NEAR = 48 /* C functions may lie above it */
};

bool (*mw_yjit_ask)(void);
const bool *mw_yjit;

/* 1: *address is code of this object. */
static int has_code(struct dl_phdr_info *info, size_t bytes, void *address)
{
	uintptr_t at = *(uintptr_t *)address - info->dlpi_addr;

	(void)bytes;
	for (const ElfW(Phdr) *h = info->dlpi_phdr; h < info->dlpi_phdr + info->dlpi_phnum; h++)
		if (h->p_type == PT_LOAD && h->p_flags & PF_X && at - h->p_vaddr < h->p_memsz)
			return 1;
	return 0;
}

void mw_yjit_find(void)
{
	void *at = dlsym(RTLD_DEFAULT, "rb_yjit_enabled_p");
	uintptr_t address = (uintptr_t)at;

	if (!at)
		return;
	if (dl_iterate_phdr(has_code, &address))
		mw_yjit_ask = (bool (*)(void))(uintptr_t)at;
	else
		mw_yjit = at;
}

/* The frame to which jit_return leads. Zeros: a C function's, or it can't be read. */
static struct mw_ruby_frame light(uintptr_t jit_return)
{
	struct mw_ruby_frame f = { 0, 0 };
	uintptr_t at;

	if (jit_return == C_FUNCTION || !mw_pointer_like(jit_return) || !mw_peek(jit_return - WORD, &at) ||
	    !mw_pointer_like(at) || !mw_peek(at, &f.pc) || !mw_peek(at + WORD, &f.iseq))
		return (struct mw_ruby_frame){ 0, 0 };
	return f;
}

struct mw_ruby_frame mw_jit_frame(uintptr_t cfp, struct mw_ruby_frame raw)
{
	uintptr_t jit_return;

	/* where Ruby has such frames, it has this function */
	if (!mw_zjit_runs() || !mw_rb.rb_zjit_jit_frame_update_references ||
	    !mw_peek(cfp + CFP_JIT_RETURN, &jit_return) || !jit_return)
		return raw;
	return light(jit_return);
}

/* The GC sees no frame without its pc; and it moves iseqs, whose instructions aren't found meanwhile. */
static bool in_gc(void)
{
	return mw_rb.ruby_thread_has_gvl_p() && mw_rb.rb_during_gc();
}

/* Is it the frame of a method or block? Without a pc others stand for a library that is being loaded, or C code. */
static bool is_code(uintptr_t cfp)
{
	enum { MASK = 0x7fff0001, METHOD = 0x11110001, BLOCK = 0x22220001 };
	uintptr_t ep, flags;

	return mw_peek(cfp + MW_CFP_EP, &ep) && mw_pointer_like(ep) && mw_peek(ep, &flags) &&
	       ((flags & MASK) == METHOD || (flags & MASK) == BLOCK);
}

static enum mw_jit_late late(uintptr_t cfp, struct mw_ruby_frame f)
{
	if (!f.iseq)
		return MW_JIT_NOT_LATE;
	if (!f.pc)
		return is_code(cfp) ? MW_JIT_LATE_UNNAMED : MW_JIT_NOT_LATE;
	return mw_ruby_code(f.iseq, mw_ruby_body, f.pc) ? MW_JIT_NOT_LATE : MW_JIT_LATE;
}

struct mw_ruby_frame mw_jit_running(uintptr_t cfp, struct mw_ruby_frame raw)
{
	struct mw_ruby_frame f = mw_jit_frame(cfp, raw);

	return !late(cfp, f) || in_gc() ? f : (struct mw_ruby_frame){ 0, 0 };
}

/* Memory is read with care: it is asked before a frame is trusted. */
enum mw_jit_late mw_jit_late(void)
{
	const char *ec = mw_jit_may_run() && mw_get(&mw_ruby_verified) ? mw_ruby_ec() : NULL, *end, *top;
	struct mw_ruby_frame f = { 0, 0 };
	uintptr_t at;

	top = ec ? mw_ruby_stack(ec, &end) : NULL;
	for (at = (uintptr_t)top; top && at < (uintptr_t)end && !f.iseq; at += mw_ruby.frame_size) {
		if (!mw_peek(at + MW_CFP_PC, &f.pc) || !mw_peek(at + MW_CFP_ISEQ, &f.iseq))
			return MW_JIT_NOT_LATE;
		f = mw_jit_frame(at, f);
	}
	return late(at - mw_ruby.frame_size, f);
}

static bool start_holds; /* relaxed; with the GVL */

void mw_jit_learn_start(const mw_value *values, int n)
{
	mw_value second;
	int line;

	if (n > 1 && values[0] != values[1] && !mw_get(&start_holds))
		mw_set(&start_holds,
		       mw_rb.rb_profile_frames(1, 1, &second, &line) == 1 && second == values[1]);
}

/* At a safe point no frame is without its pc: if one is there, too, the offsets are wrong. */
static enum mw_jit_late doubted_late(void)
{
	enum mw_jit_late is = mw_jit_late();

	if (is && mw_ruby_reads())
		mw_ruby_ask_for(MW_RUBY_WHEN_DOUBTED);
	return is;
}

bool mw_ruby_may_ask(void)
{
	return mw_rb.ruby_thread_has_gvl_p() && !mw_rb.rb_during_gc() &&
	       (doubted_late() != MW_JIT_LATE || mw_get(&start_holds));
}

int mw_ruby_named(int limit, mw_value *values, int *lines)
{
	return mw_rb.rb_profile_frames(mw_jit_late() == MW_JIT_LATE, limit, values, lines);
}

mw_value mw_ruby_code_at(const char *cfp, mw_value named)
{
	uintptr_t iseq = mw_ruby_at(cfp).iseq;

	return mw_ruby_is_iseq(iseq) ? iseq : named;
}

/* The code of the innermost frame that Ruby names, which may be that of a file that is being loaded. */
static mw_value innermost_code(mw_value named)
{
	const char *ec = mw_ruby_reads() ? mw_ruby_ec() : NULL, *end, *cfp;

	for (cfp = ec ? mw_ruby_stack(ec, &end) : NULL; cfp && cfp < end; cfp += mw_ruby.frame_size) {
		struct mw_ruby_frame f = mw_ruby_at(cfp);

		if (f.iseq && (f.pc || f.iseq == named))
			return mw_ruby_code_at(cfp, named);
	}
	return named;
}

int mw_ruby_innermost(const char **path)
{
	mw_value values[NEAR];
	int lines[NEAR], n;

	if (!mw_zjit_runs() && !mw_jit_late()) {
		*path = mw_rb.rb_sourcefile();
		return mw_rb.rb_sourceline();
	}
	/* these would look for the line of any pc; this one doesn't */
	n = mw_ruby_named(NEAR, values, lines);
	for (int i = 0; i < n; i++)
		if (mw_ruby_path(values[i])) {
			*path = mw_ruby_path(innermost_code(values[i]));
			return lines[i];
		}
	*path = NULL;
	return 0;
}
