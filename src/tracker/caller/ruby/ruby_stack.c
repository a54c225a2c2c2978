/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ruby_stack.h"

#include <string.h>

#include "imemo.h"
#include "jit.h"
#include "look.h"
#include "method_name.h"
#include "safe_read.h"
#include "tracker/table/row_lists.h"

/*
 * The method in a C function's frame, as from Ruby 2.6 to 4.0. These marks tell garbage from frames,
 * and a wrong answer gives no more than a key that no other frame has.
 */
enum {
	MAGIC_MASK = 0x7fff0001,
	MAGIC_CFUNC = 0x55550001,
	FLAG_FINISH = 0x20, /* the frame's end is that of a run of the interpreter, */
	FLAG_CFRAME = 0x80, /* unless it runs no Ruby code */
	EP_METHOD = -16, /* bytes from ep: the method's entry, or what leads to it */
	METHOD_DEFINITION = 16, /* bytes */
	METHOD_CALLED = 24,
	DEFINITION_FUNCTION = 8
};

/* The method's entry of a C function's frame; with the GVL, outside GC. 0: not known. */
static uintptr_t entry_of(const char *cfp)
{
	uintptr_t ep, flags, entry;

	return mw_peek((uintptr_t)cfp + MW_CFP_EP, &ep) && mw_pointer_like(ep) && mw_peek(ep, &flags) &&
			       (flags & MAGIC_MASK) == MAGIC_CFUNC &&
			       mw_peek(ep + (uintptr_t)EP_METHOD, &entry) && mw_ruby_is_method(entry) ?
		       entry :
		       0;
}

/* A key for that method; 0: not known. */
static uint64_t method_of(const char *cfp)
{
	uintptr_t entry = entry_of(cfp), definition, called, function;

	if (!entry || !mw_peek(entry + METHOD_DEFINITION, &definition) || !mw_pointer_like(definition) ||
	    !mw_peek(entry + METHOD_CALLED, &called) ||
	    !mw_peek(definition + DEFINITION_FUNCTION, &function))
		return 0;
	return mw_mix(function ^ mw_mix(called)) & ~MW_FRAME_KIND;
}

/*
 * The key of the frame at cfp; 0: none. A frame with an iseq and no pc stands for a file or library
 * that is being loaded, or for a block of C.
 */
static uint64_t key_of(const char *cfp, bool may_ask)
{
	struct mw_ruby_frame f = mw_ruby_at(cfp);

	if (f.iseq)
		return f.pc ? MW_FRAME_RUBY | (f.pc & ~MW_FRAME_KIND) : 0;
	return MW_FRAME_METHOD | (may_ask ? method_of(cfp) : 0);
}

static const char *frames_now(const char **end)
{
	const char *ec;

	if (!mw_ruby_reads())
		return NULL;
	ec = mw_ruby_ec();
	return ec ? mw_ruby_stack(ec, end) : NULL;
}

/* The outermost frame runs nothing. */
static bool is_within(const char *cfp, const char *end)
{
	return cfp + mw_ruby.frame_size < end;
}

void mw_ruby_walk(struct mw_walk *w)
{
	const char *end, *cfp = frames_now(&end);
	bool may_ask = cfp && mw_ruby_may_ask();

	for (; cfp && is_within(cfp, end); cfp += mw_ruby.frame_size) {
		uint64_t key = key_of(cfp, may_ask);

		if (key)
			mw_walk_add(w, key);
	}
}

int mw_ruby_runs(void)
{
	const char *end, *cfp = frames_now(&end);
	uintptr_t flags;
	int n = 0;

	if (!cfp) /* no Ruby here, or a thread that isn't Ruby's; else its frames can't be read */
		return mw_get(&mw_ruby.how) == MW_RUBY_NONE || mw_ruby_reads() ? 0 : -1;
	for (; is_within(cfp, end); cfp += mw_ruby.frame_size) {
		struct mw_ruby_frame f = mw_ruby_at(cfp);
		uintptr_t ep;

		/* without a pc it runs nothing: a library that is being loaded */
		if (f.iseq && f.pc && mw_peek((uintptr_t)cfp + MW_CFP_EP, &ep) && mw_pointer_like(ep) &&
		    mw_peek(ep, &flags) && (flags & (FLAG_FINISH | FLAG_CFRAME | 1)) == (FLAG_FINISH | 1))
			n++;
	}
	return n;
}

/* --- names ---------------------------------------------------------------------------- */

static const char *value_text(mw_value v, size_t *n)
{
	const char *s = mw_ruby_text(v);

	*n = s ? strlen(s) : 0;
	return s;
}

static void name_one(const char *cfp, uint64_t key, mw_value value, int line)
{
	struct mw_frame_text t = { 0 };
	char name[MW_METHOD_NAME_MAX];
	uint32_t ref;
	size_t n;

	if (!mw_frame_lacks_text(key))
		return;
	/* of the iseq itself: for a block Ruby names the method around it; of anything else it would abort */
	if (mw_rb.rb_profile_frame_label && (key & MW_FRAME_KIND) == MW_FRAME_RUBY &&
	    mw_ruby_is_iseq(mw_ruby_at(cfp).iseq))
		t.name = value_text(mw_rb.rb_profile_frame_label(mw_ruby_at(cfp).iseq), &t.name_len);
	if (!t.name && mw_rb.rb_profile_frame_method_name)
		t.name = value_text(mw_rb.rb_profile_frame_method_name(value), &t.name_len);
	n = t.name ? mw_ruby_method_name(value, t.name, name) : 0;
	if (n) {
		t.name = name;
		t.name_len = n;
	}
	t.file = value_text(mw_rb.rb_profile_frame_path(mw_ruby_code_at(cfp, value)), &t.file_len);
	t.line = t.file && line > 0 ? (uint32_t)line : 0;
	if ((key & MW_FRAME_KIND) == MW_FRAME_RUBY) {
		t.block = (uintptr_t)mw_ruby_code_block(cfp, &ref);
		/* without a record its death would go unnoticed: so would other code of that pc */
		if (!ref && !(t.block && mw_ruby_adopt((const void *)t.block)))
			return;
		if (ref) {
			(void)mw_code_flag(ref);
			mw_sample_is_code_locked(ref);
		}
	}
	mw_frame_name(key, &t);
}

enum what { RUBY, FUNCTION, LOADING };

static enum what what_is(const char *cfp)
{
	struct mw_ruby_frame f = mw_ruby_at(cfp);

	return !f.iseq ? FUNCTION : f.pc ? RUBY : LOADING;
}

/*
 * The next frame from cfp on that Ruby names `value`; NULL: none is. Ruby names all frames of Ruby
 * code, but not each of a file that is being loaded.
 */
static const char *next_named(const char *cfp, const char *end, mw_value value)
{
	for (; cfp < end; cfp += mw_ruby.frame_size) {
		enum what what = what_is(cfp);

		if (what == RUBY || (what == LOADING && mw_ruby_at(cfp).iseq == value))
			return cfp;
	}
	return NULL;
}

/*
 * Names the C functions, up to the next frame of Ruby code, whose method is `value`. Their order
 * says nothing: Ruby also names blocks of C, and by the method around them.
 */
static void name_functions(const char *cfp, const char *end, mw_value value)
{
	for (; cfp < end && what_is(cfp) != RUBY; cfp += mw_ruby.frame_size)
		if (what_is(cfp) == FUNCTION && entry_of(cfp) == value)
			name_one(cfp, key_of(cfp, true), value, 0);
}

void mw_ruby_name_frames(void)
{
	const char *end, *cfp = frames_now(&end), *path;
	static mw_value values[MW_WALK_MOST]; /* under the lock: a thread's stack may be small */
	static int lines[MW_WALK_MOST];
	int n;

	if (!cfp || !mw_ruby_may_ask())
		return;
	n = mw_ruby_named(MW_WALK_MOST, values, lines);
	for (int i = 0; i < n && cfp < end; i++) {
		const char *at;
		uint64_t key;

		if (!mw_ruby_path(values[i])) {
			name_functions(cfp, end, values[i]);
			continue;
		}
		at = next_named(cfp, end, values[i]);
		if (!at)
			continue;
		cfp = at;
		/* from Ruby 3.3 on it gives none for the innermost frame's machine code; this one does */
		if (!i && lines[i] <= 0 && what_is(cfp) == RUBY)
			lines[i] = mw_ruby_innermost(&path);
		key = key_of(cfp, true);
		if (key)
			name_one(cfp, key, values[i], lines[i]);
		cfp += mw_ruby.frame_size;
	}
}
