/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find.c - finds the VM's structures by inspection, not by version.
 *
 * The current execution context (ec) is a thread-local variable of libruby, or of a ruby with
 * libruby linked in: exported up to 3.2, hidden since. The current thread's own object leads to its
 * thread structure. The variable is the word of the TLS block that also stands in that structure,
 * and looks in every way like an ec. Its distance from the thread pointer is the same in all
 * threads, for objects loaded at start.
 *
 * An ec looks like this:
 *  - a stack and its size, and a frame pointer inside it;
 *  - from there to the end of the stack whole frames, each with a stack pointer inside;
 *  - the innermost Ruby frame's pc lies inside the instructions of its iseq.
 *
 * Nothing is certain here yet, so only mw_peek (safe_read.h) reads words. The result is a guess
 * until mw_ruby_verify (verify.c) agrees.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "safe_read.h"
#include "jit.h"
#include "look.h"

enum { WORD = sizeof(uintptr_t), THREAD_WORDS = 20 };

struct tls {
	uintptr_t inside; /* an address in the wanted object */
	const uintptr_t *block;
	size_t words;
};

static int find_tls(struct dl_phdr_info *i, size_t size, void *arg)
{
	struct tls *t = arg;
	bool here = false;

	if (size < sizeof(*i))
		return 0;
	for (int k = 0; k < i->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &i->dlpi_phdr[k];

		if (p->p_type == PT_LOAD && t->inside - (i->dlpi_addr + p->p_vaddr) < p->p_memsz)
			here = true;
	}
	if (!here)
		return 0;
	for (int k = 0; k < i->dlpi_phnum; k++)
		if (i->dlpi_phdr[k].p_type == PT_TLS && i->dlpi_tls_data) {
			t->block = i->dlpi_tls_data;
			t->words = i->dlpi_phdr[k].p_memsz / WORD;
		}
	return 1;
}

/* Is every frame from cfp to the end whole, if they are `size` bytes long? */
static bool frames_fit(const struct mw_ruby_stack *s, uint32_t size)
{
	struct mw_ruby_frame f;

	if ((s->end - s->cfp) % size)
		return false;
	for (uintptr_t at = s->cfp; at < s->end; at += size)
		if (!mw_ruby_read_frame(s, at, &f))
			return false;
	return true;
}

static uint32_t frame_size(uintptr_t ec)
{
	static const uint32_t sizes[] = { 56, 64, 48, 72, 80 };
	struct mw_ruby_stack s;

	if (!mw_ruby_read_stack(ec, &s))
		return 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (frames_fit(&s, sizes[i]))
			return sizes[i];
	return 0;
}

/* The offset of an iseq's body, judged by this frame; 0: not found. */
static uint32_t body_offset(const struct mw_ruby_frame *f)
{
	static const uint32_t offsets[] = { 16, 8 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		if (mw_ruby_code(f->iseq, offsets[i], f->pc))
			return offsets[i];
	return 0;
}

/*
 * Does the thread's structure have ec among its first words? The data pointer of thread_object, at
 * offset `data`, leads to the structure.
 */
static bool is_current_ec(uintptr_t thread_object, uint32_t data, uintptr_t ec)
{
	uintptr_t th, word;

	if (!mw_pointer_like(thread_object) || !mw_peek(thread_object + data, &th) || !mw_pointer_like(th))
		return false;
	for (uint32_t w = 0; w < THREAD_WORDS && mw_peek(th + w * WORD, &word); w++)
		if (word == ec)
			return true;
	return false;
}

/*
 * All words are tried with the first layout before the second: under the first, the second's word
 * is another object's flags, which may look like a pointer.
 */
static const uintptr_t *ec_in(const struct tls *t, uintptr_t thread)
{
	static const uint32_t data[] = { 32, 40 };

	for (size_t d = 0; d < sizeof(data) / sizeof(*data); d++) {
		bool seen = false;

		for (size_t i = 0; i < t->words; i++) {
			if (!mw_pointer_like(t->block[i]) || !is_current_ec(thread, data[d], t->block[i]))
				continue;
			if (frame_size(t->block[i]))
				return &t->block[i];
			seen = true; /* the layout is right, but the frames aren't whole yet */
		}
		if (seen)
			break;
	}
	return NULL;
}

static const uintptr_t *ec_variable(const char **why)
{
	const uintptr_t *exported = dlsym(RTLD_DEFAULT, "ruby_current_ec");
	struct tls t = { (uintptr_t)(void *)mw_rb.rb_thread_current, NULL, 0 };
	uintptr_t thread = mw_rb.rb_thread_current();
	const uintptr_t *var;

	if (exported && is_current_ec(thread, 32, *exported))
		return exported;
	(void)dl_iterate_phdr(find_tls, &t);
	var = ec_in(&t, thread);
	if (var)
		return var;
	*why = t.words ? "no variable holds the execution context" : "Ruby has no thread-local variables";
	return NULL;
}

/* No frame of Ruby code was seen. 0: Ruby has none either; -1: it has one. */
static int no_frame(const char **why)
{
	const char *path;

	if (mw_ruby_innermost(&path) <= 0)
		return 0;
	*why = "no frame of Ruby code is where one is";
	return -1;
}

int mw_ruby_find(const char **why)
{
	const uintptr_t *var = ec_variable(why);
	struct mw_ruby_stack s;
	struct mw_ruby_frame f;

	if (!var)
		return -1;
	mw_ruby.frame_size = frame_size(*var);
	if (!mw_ruby.frame_size || !mw_ruby_read_stack(*var, &s)) {
		*why = "the frames are of an unknown size";
		return -1;
	}
	do {
		if (s.cfp >= s.end || !mw_ruby_read_frame(&s, s.cfp, &f))
			return no_frame(why);
		s.cfp += mw_ruby.frame_size;
	} while (!f.iseq || !f.pc);
	mw_ruby_body = body_offset(&f);
	if (!mw_ruby_body) {
		*why = "the instructions of a method were not found";
		return -1;
	}
	mw_ruby.ec = (ptrdiff_t)((uintptr_t)var - mw_thread_pointer());
	return 1;
}

/* --- GC.count ------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* True if the code begins with these bytes; then *c moves past them. */
static bool eat(const uint8_t **c, const char *bytes, size_t n)
{
	if (memcmp(*c, bytes, n) != 0)
		return false;
	*c += n;
	return true;
}
#define EAT(c, bytes) eat(c, bytes, sizeof(bytes) - 1)

static uintptr_t eat_offset(const uint8_t **c)
{
	int32_t off;

	memcpy(&off, *c, sizeof(off));
	*c += sizeof(off);
	return (uintptr_t)(intptr_t)off;
}

/* Skips what a function does for its stack frame: push %rbp; mov %rsp, %rbp; pop; sub or add $8, %rsp. */
static void skip_frame(const uint8_t **c)
{
	while (EAT(c, "\x55") || EAT(c, "\x48\x89\xe5") || EAT(c, "\x5d") ||
	       EAT(c, "\x48\x83\xec\x08") || EAT(c, "\x48\x83\xc4\x08"))
		;
}

/* Follows a chain of loads from `at`, up to the function's return; 0: there is other code. */
static uintptr_t follow_loads(const uint8_t *c, uintptr_t at)
{
	for (int loads = 0; loads < 4; loads++) {
		skip_frame(&c);
		if (EAT(&c, "\xc3"))
			return at;
		if (loads && (!mw_peek(at, &at) || !mw_pointer_like(at)))
			return 0;
		if (EAT(&c, "\x48\x8b\x80")) /* mov off32(%rax), %rax */
			at += eat_offset(&c);
		else if (EAT(&c, "\x48\x8b\x40")) /* mov off8(%rax), %rax */
			at += (uintptr_t)(intptr_t)(int8_t)*c++;
		else if (!EAT(&c, "\x48\x8b\x00")) /* mov (%rax), %rax */
			return 0;
	}
	return 0;
}

/*
 * rb_gc_count() is a chain of loads: up to 3.3 from a variable of libruby through one or two
 * structures, in 3.4 from the result of rb_gc_get_objspace(). The structures stay where they are as
 * long as the VM lives. If the code is exactly that, with or without a stack frame, the chain is
 * followed once. Its end is compared with the call then (mw_ruby_verify_count), and again now and
 * then (mw_ruby_check).
 */
const uint32_t *mw_ruby_find_count(void)
{
	const uint8_t *c = (const uint8_t *)(uintptr_t)mw_rb.rb_gc_count;
	uintptr_t at = 0, off;

	(void)EAT(&c, "\xf3\x0f\x1e\xfa"); /* endbr64 */
	skip_frame(&c);
	if (EAT(&c, "\x48\x8b\x05")) { /* mov off(%rip), %rax: the chain starts at that value */
		off = eat_offset(&c);
		if (!mw_peek((uintptr_t)c + off, &at))
			return NULL;
	} else if (EAT(&c, "\x48\x8d\x05")) { /* lea off(%rip), %rax */
		off = eat_offset(&c);
		at = (uintptr_t)c + off;
	} else if (EAT(&c, "\xe8") && mw_rb.rb_gc_get_objspace) { /* call */
		(void)eat_offset(&c);
		at = (uintptr_t)mw_rb.rb_gc_get_objspace();
	}
	at = mw_pointer_like(at) ? follow_loads(c, at) : 0;
	return (const uint32_t *)at;
}
#else
const uint32_t *mw_ruby_find_count(void)
{
	return NULL;
}
#endif
