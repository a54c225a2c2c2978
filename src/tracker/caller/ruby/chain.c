/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "chain.h"

#include "jit.h"
#include "lines.h"
#include "state.h"
#include "tracker/table/callers.h"

uint32_t mw_bt;
uint32_t mw_chain_span;

void mw_bt_set(unsigned n)
{
	__atomic_store_n(&mw_bt, n < MW_BT_MOST ? n : MW_BT_MOST, __ATOMIC_SEQ_CST);
	if (mw_ruby_above)
		mw_ruby_above->changed(); /* after it: the mode is chosen by it */
}

bool mw_chain_wanted(void)
{
	uint32_t n = __atomic_load_n(&mw_bt, __ATOMIC_SEQ_CST);

	mw_set(&mw_chain_span, mw_chain_span_of(n));
	return n != 0 || mw_get(&mw_ruby.how) == MW_RUBY_JIT;
}

/* --- what is cached ------------------------------------------------------------------- */

/* The counters before the first frame's; each frame adds its page's epoch. */
static struct mw_caller_time no_time(void)
{
	struct mw_caller_time when = mw_caller_time(0);

	when.epoch = 0;
	return when;
}

static void add_time(struct mw_caller_time *when, uintptr_t pc)
{
	when->epoch += mw_caller_time(pc).epoch;
}

/* The walk's next frame with an iseq, which it takes. False: the stack ends. */
static bool next_frame(struct mw_chain_walk *w, struct mw_caller_time *when)
{
	while (w->cfp < w->end) {
		struct mw_ruby_frame f = mw_ruby_at(w->cfp);

		w->cfp += mw_ruby.frame_size;
		if (!f.iseq)
			continue;
		w->hash = mw_chain_hash(w->hash, f.pc);
		add_time(when, f.pc);
		return true;
	}
	return false;
}

/* Also makes the entries on the way fresh, or finds them stale. *id: MW_CS_NONE if none is cached. */
static uintptr_t seek(struct mw_shard *t, uint32_t n, uint32_t *id)
{
	struct mw_caller_time when = no_time();
	struct mw_chain_walk w;
	uint32_t taken = 0;
	bool ended = false;

	*id = MW_CS_NONE;
	if (!mw_chain_begin(&w, mw_chain_span_of(n)))
		return 0;
	while (taken <= n && next_frame(&w, &when))
		taken++;
	if (!taken)
		return 0;
	for (;;) {
		uintptr_t key = w.hash | MW_CHAIN_KEY;

		*id = mw_caller_recall_at(t, key, when);
		if (*id != MW_CALLER_SKIP)
			return key;
		if (ended) { /* never made so */
			*id = MW_CS_NONE;
			return key;
		}
		ended = !next_frame(&w, &when);
		if (ended)
			w.hash = mw_chain_hash(w.hash, MW_CHAIN_END);
	}
}

uintptr_t mw_chain_key(struct mw_shard *t, uint32_t n)
{
	uint32_t id;

	return seek(t, n, &id);
}

uint32_t mw_chain_recall(struct mw_shard *t, uint32_t n)
{
	uint32_t id;

	(void)seek(t, n, &id);
	return id;
}

/* --- what Ruby says -------------------------------------------------------------------- */

/*
 * NAMED: frames of Ruby and of C that it is asked to name. KEPT: of Ruby code that an answer may
 * depend on, and be cached.
 */
enum { NAMED = 256, KEPT = 64 };

struct answer {
	uint32_t id;
	bool holds; /* true of any stack with the same pcs, so it can be cached */
	unsigned n;
	struct {
		const char *cfp;
		bool passed; /* Ruby's own code, or without a line or a pc */
	} frames[KEPT]; /* those with an iseq, innermost first */
};

static void keep_frame(struct answer *a, const char *cfp, bool passed)
{
	if (a->n == KEPT) {
		a->holds = false;
		return;
	}
	a->frames[a->n].cfp = cfp;
	a->frames[a->n++].passed = passed;
}

/* The fast way's frames, walked in step with those that Ruby names. */
struct beside {
	const char *cfp, *end; /* the next one; NULL: not known, or they don't matter */
};

enum step { HERE, LOADING, LOST };

/*
 * Finds the frame that Ruby names `value`, and goes on to the one above it. A frame with an iseq and
 * no pc may be that of a file or library that is being loaded. Ruby doesn't always name it, nor a block
 * of C.
 */
static enum step step_to(struct answer *a, struct beside *b, mw_value value, const char **cfp)
{
	while (b->cfp && b->cfp < b->end) {
		const char *at = b->cfp;
		struct mw_ruby_frame f = mw_ruby_at(at);

		b->cfp += mw_ruby.frame_size;
		*cfp = at;
		if (!f.iseq)
			continue;
		if (f.pc)
			return HERE;
		keep_frame(a, at, true);
		if (f.iseq == value)
			return LOADING;
	}
	b->cfp = NULL;
	return LOST;
}

/* The stack ended: from 3.3 on Ruby doesn't name its outermost frame, which runs nothing. */
static void keep_unnamed(struct answer *a, const struct beside *b)
{
	for (const char *cfp = b->cfp; cfp && cfp < b->end; cfp += mw_ruby.frame_size)
		if (mw_ruby_at(cfp).iseq)
			keep_frame(a, cfp, true);
}

/* A frame as Ruby names it. */
struct named {
	const char *path;
	int line;
	const char *cfp; /* NULL: not found, or it is being loaded */
};

/* The innermost line, and the text of its callers so far. */
struct chain {
	uint32_t lines; /* of both */
	struct named first;
	mw_value frame; /* the first one's */
	bool full;      /* callers are left out */
	struct mw_callers callers;
};

static void add_line(struct chain *c, const struct named *f, mw_value frame)
{
	if (c->lines++ == 0) {
		c->first = *f;
		c->frame = f->cfp ? mw_ruby_code_at(f->cfp, frame) : frame;
	} else if (!c->full) {
		c->full = !mw_callers_add(&c->callers, f->path, strlen(f->path), (uint64_t)f->line);
	}
}

/*
 * One frame that Ruby names. inner: the line that it gives for the innermost frame, right for YJIT's,
 * too; its path is NULL once that was used.
 */
static void add_named(struct answer *a, struct chain *c, struct beside *b, struct named *inner,
		      struct named f, mw_value frame)
{
	enum step step = step_to(a, b, frame, &f.cfp);
	bool passed;

	if (step != LOADING && inner->path) {
		f.path = inner->path;
		f.line = inner->line;
	} else if (step == HERE) {
		/* of the code itself: Ruby may name the method around it */
		const char *own = mw_ruby_path(mw_ruby_code_at(f.cfp, frame));

		f.path = own ? own : f.path;
	}
	if (step != LOADING)
		inner->path = NULL;
	passed = f.line <= 0 || mw_ruby_is_internal(f.path);
	if (step == HERE)
		keep_frame(a, f.cfp, passed);
	else if (step == LOST || !passed)
		a->holds = false;
	if (step != HERE)
		f.cfp = NULL;
	if (!passed)
		add_line(c, &f, frame);
}

/*
 * Asks Ruby for the running chain. With the GVL, outside GC. Allocates nothing. ec: this thread's;
 * NULL: the fast way's frames don't matter.
 */
static __attribute__((noinline)) void ask_chain(struct answer *a, struct chain *c, const char *ec,
						uint32_t n)
{
	struct named inner = { NULL, 0, NULL }, innermost;
	struct beside beside = { NULL, NULL };
	mw_value frames[NAMED];
	int lines[NAMED], count;

	inner.line = mw_ruby_innermost(&inner.path);
	innermost = inner;
	a->id = MW_CS_NONE;
	a->holds = true;
	a->n = 0;
	c->lines = 0;
	c->full = false;
	c->callers.n = 0;
	if (!inner.path)
		return;
	if (inner.line <= 0 || mw_ruby_is_internal(inner.path))
		inner.path = NULL;
	if (ec)
		beside.cfp = mw_ruby_stack(ec, &beside.end);
	count = mw_ruby_named(NAMED, frames, lines);
	for (int i = 0; i < count && c->lines <= n; i++) {
		struct named f = { mw_ruby_path(frames[i]), lines[i], NULL };

		if (f.path) /* else a C function's */
			add_named(a, c, &beside, &inner, f, frames[i]);
	}
	if (c->lines <= n && count == NAMED)
		a->holds = false; /* there are more */
	else if (c->lines <= n)
		keep_unnamed(a, &beside);
	if (!c->lines && innermost.line > 0) {
		/* Ruby's own code with nothing above it: better than no line, but true of this
		   stack only */
		a->holds = false;
		c->lines = 1;
		c->first = innermost;
		c->frame = 0;
	}
}

static void take_location(struct answer *a, const struct chain *c)
{
	if (!c->lines)
		return;
	a->id = mw_callsite_called(c->first.path, strlen(c->first.path), (uint64_t)c->first.line,
				   c->callers.text, c->callers.n);
	if (c->frame)
		mw_ruby_learn_file(a->id, c->frame);
	if (c->first.cfp)
		mw_ruby_line_known(mw_ruby_at(c->first.cfp).pc, c->first.path, (uint64_t)c->first.line);
}

uint32_t mw_chain_ask(uint32_t n)
{
	struct answer a;
	struct chain c;

	ask_chain(&a, &c, mw_ruby_reads() ? mw_ruby_ec() : NULL, n);
	take_location(&a, &c);
	return a.id;
}

/* when: taken before Ruby was asked */
static void remember(struct mw_shard *t, uint32_t n, const struct answer *a, struct mw_caller_time when)
{
	uint64_t hash = mw_chain_span_of(n);
	uint32_t lines = 0;

	if (!a->holds || a->id == MW_CS_OTHER)
		return;
	for (unsigned i = 0; i < a->n; i++)
		if (mw_ruby_at(a->frames[i].cfp).pc && !mw_ruby_flag_code(t, a->frames[i].cfp))
			return;
	for (unsigned i = 0; i < a->n; i++) {
		uintptr_t pc = mw_ruby_at(a->frames[i].cfp).pc;

		hash = mw_chain_hash(hash, pc);
		add_time(&when, pc);
		lines += !a->frames[i].passed;
		if (i >= n && lines <= n) /* the key isn't whole yet */
			mw_caller_remember(t, hash | MW_CHAIN_KEY, MW_CALLER_SKIP, when);
	}
	if (a->n > n && lines <= n)
		hash = mw_chain_hash(hash, MW_CHAIN_END);
	mw_caller_remember(t, hash | MW_CHAIN_KEY, a->id, when);
}

uint32_t mw_chain_locate(struct mw_shard *t, uint32_t n)
{
	struct mw_caller_time when;
	struct answer a;
	struct chain c;
	uint32_t id;

	if (!seek(t, n, &id) || id != MW_CS_NONE)
		return id;
	if (mw_ruby_look_for_jit())
		return mw_chain_locate(t, n);
	if (!mw_ruby_may_ask())
		return mw_ruby_locate_line(t);
	mw_callsites_maintain();
	when = no_time();
	ask_chain(&a, &c, mw_ruby_ec(), n);
	take_location(&a, &c);
	if (a.id != MW_CS_NONE) {
		remember(t, n, &a, when);
		mw_ruby_verify_now_and_then(t);
	}
	return a.id;
}
