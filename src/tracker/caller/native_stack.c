/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "native_stack.h"

#include "tracker/caller/ruby/frame.h"
#include "unwind.h"
#include "shared/sys/libc.h"

enum {
	MOST = MW_WALK_MOST,
	CANDIDATES = 32,
	STACKS = 32, /* that a candidate must fit, before it is taken */
	DEEP = 8,    /* of these with several runs of the interpreter */
	ATTEMPTS = 8 /* to learn, from nothing */
};

static uintptr_t own_start, own_end; /* of the tracker's code */
static uintptr_t pcs[MOST];

/* Learned so far. */
static struct {
	uintptr_t start, end; /* of the outermost candidate in the end; both 0: not known */
	unsigned stacks, deep, attempts, n;
	struct {
		uintptr_t start, end;
		int times;
	} candidates[CANDIDATES]; /* the innermost first */
} learned;

void mw_native_init(void)
{
	struct mw_object o;

	if (mw_object_of((uintptr_t)mw_native_init, &o)) {
		own_start = o.start;
		own_end = o.end;
	}
}

static int candidate_of(uintptr_t pc)
{
	for (unsigned i = 0; i < learned.n; i++)
		if (pc - 1 - learned.candidates[i].start <
		    learned.candidates[i].end - learned.candidates[i].start)
			return (int)i;
	return -1;
}

static void learn_candidates(size_t n)
{
	for (size_t i = 0; i < n && learned.n < CANDIDATES; i++) {
		uintptr_t start, end;

		if (!mw_ruby_has(pcs[i]) || candidate_of(pcs[i]) >= 0 ||
		    !mw_unwind_function(pcs[i], &start, &end))
			continue;
		learned.candidates[learned.n].start = start;
		learned.candidates[learned.n++].end = end;
	}
}

static void begin_again(void)
{
	learned.n = learned.stacks = learned.deep = 0;
	learned.attempts++;
}

/* A whole stack of n frames, with so many runs of the interpreter. */
static void learn(size_t n, int runs)
{
	unsigned kept = 0;

	if (!learned.n) {
		if (runs < 2) /* a single run would fit too many functions */
			return;
		learn_candidates(n);
	}
	for (unsigned i = 0; i < learned.n; i++)
		learned.candidates[i].times = 0;
	for (size_t i = 0; i < n; i++) {
		int c = candidate_of(pcs[i]);

		if (c >= 0)
			learned.candidates[c].times++;
	}
	for (unsigned i = 0; i < learned.n; i++)
		if (learned.candidates[i].times == runs)
			learned.candidates[kept++] = learned.candidates[i];
	learned.n = kept;
	if (!kept) {
		begin_again();
		return;
	}
	learned.stacks++;
	learned.deep += runs > 1;
	if (learned.stacks >= STACKS && learned.deep >= DEEP) {
		learned.start = learned.candidates[kept - 1].start;
		learned.end = learned.candidates[kept - 1].end;
	}
}

/*
 * Without the tracker's own frames, and without those of the interpreter: the one that ended the
 * walk, and those inside of it that every run has.
 */
static void add_native_frames(struct mw_walk *w, size_t n, enum mw_unwind_end why, bool ruby)
{
	size_t i = 0;

	if (ruby && why == MW_UNWIND_OUTERMOST) /* past the interpreter: it isn't known where */
		return;
	if (why == MW_UNWIND_STOP || (ruby && why != MW_UNWIND_LIMIT))
		n -= n > 0;
	while (why == MW_UNWIND_STOP && n && candidate_of(pcs[n - 1]) >= 0)
		n--;
	while (i < n && pcs[i] - own_start < own_end - own_start)
		i++;
	for (; i < n; i++)
		mw_walk_add(w, MW_FRAME_NATIVE | (pcs[i] & ~MW_FRAME_KIND));
}

void mw_native_walk(struct mw_walk *w, int runs)
{
	struct mw_unwind u = { 0 };
	size_t n;

	if (runs < 0 || (runs > 0 && !learned.end && learned.attempts >= ATTEMPTS))
		return;
	if (runs > 0) {
		u.stop_start = learned.start;
		u.stop_end = learned.end;
	}
	n = mw_unwind(&u, pcs, MOST);
	if (!runs || learned.end)
		add_native_frames(w, n, u.why, runs > 0);
	else if (u.why == MW_UNWIND_OUTERMOST)
		learn(n, runs);
}
