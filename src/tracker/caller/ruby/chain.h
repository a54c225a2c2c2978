/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chain.h - a Ruby line and its callers: the locations of the option bt.
 *
 * With bt:N a location is a chain: the line that frame.h finds, and the lines of up to N Ruby frames
 * above it. Frames of C functions and Ruby's own frames (<internal:...>) are passed over, as they
 * are for the innermost line. By default N is 0, and nothing of this file runs.
 *
 * A chain is found by a key: a hash of the pcs of its frames, and of N. The key has a bit set that
 * no pc has, so the thread's caller cache holds both. The walk takes a few loads for each frame, of
 * the thread's own stack alone: any thread may do it at any time.
 *
 *  - The key is that of the first N + 1 frames with an iseq. If some of them are to be passed over
 *    (Ruby's own, or without a pc: a library that is being loaded, a block of C), the entry says so
 *    (MW_CALLER_SKIP), and the key goes on with the next frame. Where the stack ends instead,
 *    MW_CHAIN_END is added: another stack may go on there.
 *  - A key belongs to several pages of code. Its epoch (caller_cache.h) is the sum of theirs. Epochs
 *    only go up, so each change of one changes the sum. Inline, an entry counts while
 *    mw_code_changes stands still.
 *  - An entry is made with the GVL and outside GC, when Ruby names each frame. The blocks of all
 *    frames' instructions are flagged first. Elsewhere an unknown chain counts at its innermost line,
 *    without callers, or as pending (frame.h): the sum over all chains of a line is always exact.
 *
 * A change of N counts from each thread's next call. Blocks keep the location that they began with.
 */
#pragma once

#include "frame.h"

#define MW_BT_MOST 16u
#define MW_CHAIN_FACTOR UINT64_C(0x9e3779b97f4a7c15) /* odd; the golden ratio's bits */
#define MW_CHAIN_END UINT64_C(0x5851f42d4c957f28)    /* as a pc a multiple of 8, but none */
#define MW_CHAIN_KEY (UINT64_C(1) << 63)

extern MW_HIDDEN uint32_t mw_bt; /* callers to be kept, 0 to MW_BT_MOST; relaxed */
/* The bytes of so many frames and the innermost one, for the inline way; relaxed */
extern MW_HIDDEN uint32_t mw_chain_span;
/* Any thread. */
void mw_bt_set(unsigned n);
/* For the choice of the mode: does it take more than the innermost frame's pc? Sets mw_chain_span. */
bool mw_chain_wanted(void);

/* The bytes of n frames and the innermost one. A hash begins with them: each n has a multiple of 8. */
MW_INLINE uint32_t mw_chain_span_of(uint32_t n)
{
	return (n + 1) * mw_ruby.frame_size;
}

/* A walk from the innermost frame outwards; hash is a multiple of 8. */
struct mw_chain_walk {
	uint64_t hash;
	const char *cfp, *end; /* the next frame */
};

MW_INLINE uint64_t mw_chain_hash(uint64_t hash, uint64_t pc)
{
	return hash * MW_CHAIN_FACTOR + pc;
}

/* False: this thread's stack has no frames. span: mw_chain_span_of */
MW_INLINE bool mw_chain_begin(struct mw_chain_walk *w, uint32_t span)
{
	const char *ec = mw_ruby_ec();

	w->hash = span;
	if (mw_unlikely(!ec))
		return false;
	w->cfp = MW_AT(const char *, ec, MW_EC_CFP);
	/* else the thread begins or ends: see mw_ruby_pc */
	if (mw_unlikely(w->cfp <= MW_AT(const char *, ec, MW_EC_STACK)))
		return false;
	w->end = mw_ruby_ec_end(ec);
	return true;
}

/* Takes up to as many more frames with an iseq as have `span` bytes. False: the stack has none. */
MW_INLINE bool mw_chain_take(struct mw_chain_walk *w, uint32_t span)
{
	const char *to = w->cfp + span;
	uint64_t before = w->hash;

	if (mw_unlikely(to > w->end))
		to = w->end;
	for (; w->cfp < to; w->cfp += mw_ruby.frame_size) {
		if (MW_AT(uintptr_t, w->cfp, MW_CFP_ISEQ))
			w->hash = mw_chain_hash(w->hash, MW_AT(uintptr_t, w->cfp, MW_CFP_PC));
		else { /* a C function's: one more */
			to += mw_ruby.frame_size;
			to = to < w->end ? to : w->end;
		}
	}
	return w->hash != before;
}

/* The entry of this key in its first place, or NULL. */
MW_INLINE struct mw_caller *mw_chain_entry(struct mw_shard *t, uintptr_t key)
{
	struct mw_caller *c = mw_caller_place(t, key);

	return mw_likely(c->pc == key && mw_says(&mw_code_changes, c->changes)) ? c : NULL;
}

/*
 * The caller cache's entry of the running chain, if it can be found inline and no frame is to be passed
 * over; else NULL, and *w is where mw_chain_further goes on. Its cfp is NULL: there is no chain.
 */
MW_INLINE struct mw_caller *mw_chain_first(struct mw_shard *t, struct mw_chain_walk *w)
{
	uint32_t span = mw_get(&mw_chain_span);

	if (mw_unlikely(!mw_chain_begin(w, span))) {
		w->cfp = NULL;
		return NULL;
	}
	(void)mw_chain_take(w, span); /* without any frame it is no chain's key */
	return mw_chain_entry(t, w->hash | MW_CHAIN_KEY);
}

/* The same past frames that are to be passed over. */
MW_INLINE struct mw_caller *mw_chain_further(struct mw_shard *t, struct mw_chain_walk *w)
{
	bool ended = false;

	if (mw_unlikely(!w->cfp))
		return NULL;
	for (;;) {
		uintptr_t key = w->hash | MW_CHAIN_KEY;
		struct mw_caller *c = mw_caller_place(t, key);

		if (!mw_says(&mw_code_changes, c->changes))
			return NULL;
		if (c->pc == key)
			return c;
		if (ended || c->pc != (key | 1))
			return NULL;
		ended = !mw_chain_take(w, mw_ruby.frame_size);
		if (ended)
			w->hash = mw_chain_hash(w->hash, MW_CHAIN_END);
	}
}

/*
 * chain.c: the key of the running chain of up to n callers, the first that isn't to be skipped; 0:
 * no Ruby code is running. Where mw_ruby_reads(). The calling thread is busy, as in all of these.
 */
uintptr_t mw_chain_key(struct mw_shard *t, uint32_t n);
/* The location cached for it, or MW_CS_NONE. */
uint32_t mw_chain_recall(struct mw_shard *t, uint32_t n);
/* The location of the running chain, also by a miss; MW_CS_NONE: no Ruby code is running. */
uint32_t mw_chain_locate(struct mw_shard *t, uint32_t n);
/* The same as Ruby names it. With the GVL, outside GC. */
uint32_t mw_chain_ask(uint32_t n);
