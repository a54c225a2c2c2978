/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify.c - the self-check of what find.c found; see look.h. */
#include "look.h"

#include "jit.h"
#include "safe_read.h"

enum {
	WORD = sizeof(uintptr_t),
	LEAST_STACK = 256, /* words */
	MOST_STACK = 1 << 24,
	MOST_OFFSET = 256,
	FRAMES = 48, /* the innermost ones are compared */
	T_MASK = 0x1f,
	T_STRING = 0x05
};

bool mw_ruby_read_stack(uintptr_t ec, struct mw_ruby_stack *s)
{
	uintptr_t words;

	if (!mw_peek(ec + MW_EC_STACK, &s->base) || !mw_peek(ec + MW_EC_STACK_WORDS, &words) ||
	    !mw_peek(ec + MW_EC_CFP, &s->cfp))
		return false;
	s->end = s->base + words * WORD;
	return mw_pointer_like(s->base) && mw_pointer_like(s->cfp) && words >= LEAST_STACK &&
	       words <= MOST_STACK && s->cfp >= s->base && s->cfp < s->end;
}

bool mw_ruby_read_frame(const struct mw_ruby_stack *s, uintptr_t at, struct mw_ruby_frame *f)
{
	uintptr_t sp, ep;

	if (!mw_peek(at + MW_CFP_PC, &f->pc) || !mw_peek(at + MW_CFP_SP, &sp) ||
	    !mw_peek(at + MW_CFP_ISEQ, &f->iseq) || !mw_peek(at + MW_CFP_EP, &ep) || !mw_pointer_like(ep))
		return false;
	if (mw_zjit_runs() || mw_get(&mw_ruby.how) == MW_RUBY_JIT)
		*f = mw_ruby_body ? mw_jit_running(at, *f) : mw_jit_frame(at, *f);
	else if (sp < s->base || sp > s->end)
		return false;
	return !f->iseq || mw_pointer_like(f->iseq);
}

uintptr_t mw_ruby_code(uintptr_t iseq, uint32_t body_at, uintptr_t pc)
{
	uintptr_t body, code;
	uint32_t size;

	if (!mw_pointer_like(iseq) || !mw_peek(iseq + body_at, &body) || !mw_pointer_like(body) ||
	    !mw_peek(body + MW_BODY_CODE, &code) || !mw_peek32(body + MW_BODY_SIZE, &size))
		return 0;
	/* the pc is the next instruction's; the allocator may read the word before the code */
	return mw_pointer_like(code) && pc % WORD == 0 && pc >= code &&
			       pc - code <= (uintptr_t)size * WORD && mw_readable(code - WORD, 2 * WORD) ?
		       code :
		       0;
}

const char *mw_ruby_text(mw_value string)
{
	volatile mw_value s = string;

	if (s % WORD || s < 0x1000 || (MW_AT(uintptr_t, s, 0) & T_MASK) != T_STRING)
		return NULL;
	return mw_rb.rb_string_value_ptr(&s);
}

const char *mw_ruby_path(mw_value frame)
{
	return mw_ruby_text(mw_rb.rb_profile_frame_path(frame));
}

const char *mw_ruby_file(mw_value frame)
{
	const char *path = mw_ruby_text(mw_rb.rb_profile_frame_absolute_path(frame));

	return path && *path == '/' ? path : NULL;
}

/*
 * The next frame of Ruby code from s->cfp on; s->cfp moves behind it. 1: found; 0: none;
 * -1: a frame isn't whole.
 */
static int next_frame(struct mw_ruby_stack *s, struct mw_ruby_frame *f)
{
	while (s->cfp < s->end) {
		if (!mw_ruby_read_frame(s, s->cfp, f))
			return -1;
		s->cfp += mw_ruby.frame_size;
		if (f->iseq)
			return 1;
	}
	return 0;
}

/*
 * Is the stack's next frame the one that Ruby names `value`? A frame without a pc stands for a
 * library while it is loaded; Ruby doesn't always name it. The outermost frame of the main thread
 * runs nothing, and proves little.
 */
static bool is_next(struct mw_ruby_stack *s, mw_value value, bool *surely, const char **why)
{
	struct mw_ruby_frame f;

	do {
		if (next_frame(s, &f) != 1)
			return false;
	} while (!f.pc && f.iseq != value);
	/* Ruby names a method by another object than its iseq; all other frames by their iseq */
	*surely = f.iseq == value && s->cfp < s->end;
	if (!f.pc || mw_ruby_code(f.iseq, mw_ruby_body, f.pc))
		return true;
	*why = "a frame isn't within its instructions";
	return false;
}

/* Are there no more frames? From 3.3 on Ruby doesn't name the outermost one. */
static bool no_more(struct mw_ruby_stack *s)
{
	struct mw_ruby_frame f;
	int is;

	do {
		is = next_frame(s, &f);
	} while (is == 1 && (!f.pc || s->cfp >= s->end));
	return is == 0;
}

/* Are the frames from s->cfp on those that Ruby names? Results of mw_ruby_verify. */
static int same_frames(struct mw_ruby_stack *s, const char **why)
{
	mw_value values[FRAMES];
	int lines[FRAMES], n = mw_ruby_named(FRAMES, values, lines), sure = 0;
	bool surely;

	mw_jit_learn_start(values, n);
	*why = "the frames aren't those that Ruby names";
	for (int i = 0; i < n; i++) {
		if (!mw_ruby_path(values[i]))
			continue; /* a C function's */
		if (!is_next(s, values[i], &surely, why))
			return -1;
		sure += surely;
	}
	if (n < FRAMES && !no_more(s))
		return -1;
	return sure > 0;
}

static bool is_offset(uintptr_t n)
{
	return n % WORD == 0 && n <= MOST_OFFSET;
}

int mw_ruby_verify(const char **why)
{
	uintptr_t at = mw_thread_pointer() + (uintptr_t)mw_ruby.ec, ec;
	struct mw_ruby_stack s;

	if (!is_offset(mw_ruby.frame_size) || !mw_ruby.frame_size || !is_offset(mw_ruby_body)) {
		*why = "the frames are of an unknown size";
		return -1;
	}
	if (!mw_peek(at, &ec) || !mw_ruby_read_stack(ec, &s)) {
		*why = "the execution context isn't where it was found";
		return -1;
	}
	if ((s.end - s.cfp) % mw_ruby.frame_size) {
		*why = "the stack isn't whole frames";
		return -1;
	}
	return same_frames(&s, why);
}

bool mw_ruby_verify_count(const uint32_t *count)
{
	uint32_t n;

	return mw_pointer_like((uintptr_t)count & ~(uintptr_t)4) && mw_peek32((uintptr_t)count, &n) &&
	       n == (uint32_t)mw_rb.rb_gc_count();
}
