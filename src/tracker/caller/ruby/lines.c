/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lines.c - finds the Ruby line that is executing; see frame.h. */
#include "lines.h"

#include "chain.h"
#include "imemo.h"
#include "jit.h"
#include "safe_read.h"
#include "state.h"
#include "tracker/base/noticed.h"
#include "tracker/table/adopted.h"
#include "tracker/table/generation.h"
#include "tracker/table/record_of.h"
#include "tracker/table/row_lists.h"
#include "tracker/stacks/stacks.h"
#include "tracker/table/tail.h"

static uint32_t pending_open; /* relaxed: pending locations not resolved yet */
static uint64_t pending_seen; /* relaxed: the bits of all pcs that ever had one */

/* --- the public way ---------------------------------------------------------------------- */

enum { FRAMES = 48, NEAR = 8 };

/* Is the file of this location known already, or does "(other)" need none? */
static bool file_is_known(uint32_t id)
{
	return id == MW_CS_OTHER || __atomic_load_n(&mw_callsite(id)->path->real, __ATOMIC_ACQUIRE);
}

/*
 * Code can be evaluated under the name of any file. Only a frame of code that Ruby read from a
 * file proves that it did (mw_api.source). Each miss at this path asks its frame, until one
 * proves it.
 */
void mw_ruby_learn_file(uint32_t id, mw_value frame)
{
	const char *file = file_is_known(id) ? NULL : mw_ruby_file(frame);

	if (file)
		mw_path_read_from(mw_callsite(id)->path, file);
}

/*
 * The same for the innermost frame. Ruby may name the method around it instead: its answer is for
 * the method's own path only.
 */
static void learn_innermost(uint32_t id, const char *path)
{
	mw_value frames[NEAR];
	int lines[NEAR], n = file_is_known(id) ? 0 : mw_ruby_named(NEAR, frames, lines);

	for (int i = 0; i < n; i++) {
		const char *p = mw_ruby_path(frames[i]);

		if (!p)
			continue; /* a C function's */
		if (strcmp(p, path) == 0)
			mw_ruby_learn_file(id, frames[i]);
		return;
	}
}

/* The answer of the public calls for the present stack. */
struct answer {
	uint32_t id;      /* MW_CS_NONE: no Ruby code is running */
	unsigned skipped; /* frames of Ruby's own code above the one that is named */
	bool holds;       /* true of any stack with the same pcs, so it can be cached */
	bool own;         /* the innermost frame's line, with nothing but Ruby's own code */
};

/*
 * Walks the fast way's frames in step with those that Ruby names, innermost first. A frame with instructions but no
 * pc is that of a file or library that is being loaded. Not each Ruby names it.
 */
struct beside {
	const char *cfp, *end; /* cfp NULL: nothing more is known */
};

/* The next frame, which Ruby names `value`; NULL: the fast way sees none, or it is being loaded. */
static const char *seen_beside(struct beside *b, mw_value value)
{
	while (b->cfp && b->cfp < b->end) {
		const char *cfp = b->cfp;
		struct mw_ruby_frame f = mw_ruby_at(cfp);

		b->cfp += mw_ruby.frame_size;
		if (f.iseq && f.pc)
			return cfp;
		if (f.iseq && f.iseq == value)
			return NULL;
	}
	b->cfp = NULL;
	return NULL;
}

/* The app's first line ends the start. Written once: threads read what lies beside it at each allocation. */
static void note_app(void)
{
	if (mw_get(&mw_ruby_starts))
		mw_set(&mw_ruby_starts, 0);
}

/*
 * The line that a user needs: that of the innermost frame whose file is not Ruby's own. With the
 * GVL, outside GC. Allocates nothing. ec: this thread's; NULL: the fast way's frames don't matter.
 */
static struct answer ask_ruby(const char *ec)
{
	const char *path;
	int line = mw_ruby_innermost(&path);
	struct answer a = { MW_CS_NONE, 0, true, false };
	mw_value frames[FRAMES];
	int lines[FRAMES], n;
	struct beside beside = { NULL, NULL };

	if (!path)
		return a;
	if (line > 0 && !mw_ruby_is_internal(path)) { /* the usual case */
		note_app();
		a.id = mw_callsite_ruby(path, strlen(path), (uint64_t)line);
		learn_innermost(a.id, path);
		return a;
	}
	if (ec)
		beside.cfp = mw_ruby_stack(ec, &beside.end);
	n = mw_ruby_named(FRAMES, frames, lines);
	for (int i = 0; i < n; i++) {
		const char *p = mw_ruby_path(frames[i]), *seen;

		if (!p)
			continue;
		seen = seen_beside(&beside, frames[i]);
		if (seen) {
			frames[i] = mw_ruby_code_at(seen, frames[i]);
			p = mw_ruby_path(frames[i]);
		}
		if (lines[i] <= 0) {
			/* a file or library that is being loaded, or code evaluated with a line
			   below 1 (by ERB#def_method): the fast way sees only the latter */
			if (seen)
				a.skipped++;
			else
				a.holds = false;
			continue;
		}
		if (!mw_ruby_is_internal(p)) {
			note_app();
			a.id = mw_callsite_ruby(p, strlen(p), (uint64_t)lines[i]);
			mw_ruby_learn_file(a.id, frames[i]);
			return a;
		}
		a.skipped++;
	}
	/* Ruby's own code with nothing below it: better than no line, but not true of each stack that begins so */
	a.holds = false;
	a.own = line > 0;
	if (a.own)
		a.id = mw_callsite_ruby(path, strlen(path), (uint64_t)line);
	return a;
}

/* STARTING: looks for the VM. If it is up, or PUBLIC: asks Ruby. ENDED: MW_CS_NONE. bt: mw_bt */
static uint32_t not_fast(uint32_t bt)
{
	switch (mw_get(&mw_ruby.how)) {
	case MW_RUBY_STARTING:
		if (!mw_ruby_look_for_vm())
			return MW_CS_NONE;
		/* fallthrough */
	case MW_RUBY_PUBLIC:
		if (!mw_ruby_may_ask())
			return MW_CS_NONE;
		mw_callsites_maintain();
		return bt ? mw_chain_ask(bt) : ask_ruby(NULL).id;
	default:
		return MW_CS_NONE;
	}
}

/* --- doubt -------------------------------------------------------------------------------- */

/*
 * Something wasn't as the fast way expects. One case may be a thread about to end. So Ruby runs a
 * job at a safe point, where all must be right. A thread with DOUBTS cases before that is enough,
 * too: the public way is taken for good.
 */
enum { DOUBTS = 8, THREADS = 64 };
static uint8_t doubts[THREADS]; /* relaxed: by shard, hashed */

static uint8_t *doubts_of(const struct mw_shard *t)
{
	return &doubts[(uintptr_t)t / sizeof(*t) % THREADS];
}

void mw_ruby_look_again(void *unused)
{
	struct mw_shard *t = mw_ruby_above->thread();
	const char *why;

	(void)unused;
	if (!mw_ruby_reads())
		return;
	if (mw_ruby_verify(&why) < 0)
		mw_ruby_go_public(why);
	else if (t)
		mw_set(doubts_of(t), 0);
}

static void doubt(struct mw_shard *t, const char *why)
{
	uint8_t n = (uint8_t)(mw_get(doubts_of(t)) + 1);

	mw_set(doubts_of(t), n);
	if (n >= DOUBTS)
		mw_ruby_go_public(why);
	else
		mw_ruby_ask_for(MW_RUBY_WHEN_DOUBTED);
}

/* --- the block of a frame's instructions ------------------------------------------------------ */

enum { MISFIT = 32, FITTED = 3 }; /* bytes of a block more than its instructions; blocks in a row */

/* This Ruby was seen to keep the instructions of a method in a block of their own; relaxed. */
static bool code_is_a_block;

/* So many instructions have just the room of a block that was made for them. */
static bool fits(uintptr_t iseq, const void *code)
{
	size_t bytes =
		MW_AT(uint32_t, MW_AT(uintptr_t, iseq, mw_ruby_body), MW_BODY_SIZE) * sizeof(uintptr_t);
	size_t room = mw_usable(code);

	return room >= bytes &&
	       room - bytes < MISFIT + bytes / 4; /* size classes are up to a quarter apart */
}

/* Where blocks have no tail, their size has to do: of several in a row, by chance of none. */
static void learn_by_size(uintptr_t iseq, const void *code)
{
	static const void *last; /* relaxed, as fitted: a race makes it later */
	static uint32_t fitted;

	if (mw_get(&code_is_a_block) || mw_get(&last) == code)
		return;
	mw_set(&last, code);
	mw_set(&fitted, fits(iseq, code) ? mw_get(&fitted) + 1 : 0);
	if (mw_get(&fitted) >= FITTED)
		mw_set(&code_is_a_block, true);
}

const void *mw_ruby_code_block(const char *cfp, uint32_t *ref)
{
	struct mw_ruby_frame f = mw_ruby_at(cfp);
	const void *code = NULL;
	struct mw_record *r;

	/* else words of another object might lead to an address that the allocator doesn't know */
	if (mw_ruby_is_iseq(f.iseq))
		code = (const void *)mw_ruby_code(f.iseq, mw_ruby_body, f.pc);
	*ref = code ? mw_ref_of(code, mw_usable(code), &r) : 0;
	if (code && !*ref && mw_get(&mw_sampled))
		learn_by_size(f.iseq, code);
	return code;
}

/* --- a pc that isn't cached -------------------------------------------------------------- */

bool mw_ruby_adopt(const void *code)
{
	return mw_get(&mw_unseen) && mw_get(&code_is_a_block) && mw_adopted_add(code);
}

void mw_ruby_learn_code(void)
{
	const char *ec = NULL, *end, *cfp;
	uint32_t ref = 0;
	const void *code;

	if (mw_ruby_reads())
		ec = mw_ruby_ec();
	cfp = ec ? mw_ruby_stack(ec, &end) : NULL;
	cfp = cfp ? mw_ruby_frame(cfp, end) : NULL;
	code = cfp ? mw_ruby_code_block(cfp, &ref) : NULL;
	/* in quiet mode it has no record, but a tail that says so */
	if (ref || (code && mw_tail_checks(code, mw_usable(code)) &&
		    mw_tail_read(code, mw_usable(code)) == MW_TAIL_NONE))
		mw_set(&code_is_a_block, true);
}

bool mw_ruby_flag_code(struct mw_shard *t, const char *cfp)
{
	uint32_t ref;
	const void *code = mw_ruby_code_block(cfp, &ref);

	if (!code) {
		doubt(t, "a frame isn't within its instructions");
		return false;
	}
	if (!ref)
		return mw_ruby_adopt(code);
	mw_set(&code_is_a_block, true);
	(void)mw_code_flag(ref);
	mw_sample_is_code(ref);
	return true;
}

/* The bit that stands for a pc, and for one in 64 of all others. */
static uint64_t pending_bit(uintptr_t pc)
{
	return UINT64_C(1) << mw_mix(pc) % 64;
}

/* The pending location of this pc, which isn't resolved yet, or MW_CS_NONE. Most pcs never had one. */
static uint32_t pending_of(uintptr_t pc)
{
	return mw_get(&pending_open) && mw_get(&pending_seen) & pending_bit(pc) ?
		       mw_callsite_pending_known(pc) :
		       (uint32_t)MW_CS_NONE;
}

static void resolve(uint32_t pending, uint32_t id)
{
	mw_callsite_resolve(pending, id);
	mw_add(&pending_open, (uint32_t)-1);
}

void mw_ruby_line_known(uintptr_t pc, const char *path, uint64_t line)
{
	uint32_t p = pending_of(pc), id;

	if (p == MW_CS_NONE)
		return;
	id = mw_callsite_ruby(path, strlen(path), line);
	if (id != MW_CS_OTHER)
		resolve(p, id);
}

static void remember(struct mw_shard *t, const char *cfp, uint32_t id, struct mw_caller_time when)
{
	uintptr_t pc = mw_ruby_at(cfp).pc;
	uint32_t p;

	if (id == MW_CS_OTHER || !mw_ruby_flag_code(t, cfp))
		return;
	mw_caller_remember(t, pc, id, when);
	p = id != MW_CALLER_SKIP ? pending_of(pc) : (uint32_t)MW_CS_NONE;
	if (p != MW_CS_NONE)
		resolve(p, id);
}

static struct mw_caller_time time_of(const char *cfp)
{
	return mw_caller_time(mw_ruby_at(cfp).pc);
}

/* Caches the frames that the answer skipped, then the one it named. */
static void remember_all(struct mw_shard *t, const char *ec, const struct answer *a)
{
	const char *end, *cfp = mw_ruby_stack(ec, &end);
	unsigned over = 0;

	while (cfp && (cfp = mw_ruby_frame(cfp, end)) && over < a->skipped) {
		remember(t, cfp, MW_CALLER_SKIP, time_of(cfp));
		cfp += mw_ruby.frame_size;
		over++;
	}
	if (cfp && a->holds)
		remember(t, cfp, a->id, time_of(cfp));
}

/*
 * Runs once a blocking call is over, usually in the thread that made it. That thread is still at
 * the same line: so the line of allocations during the call becomes known.
 */
void mw_ruby_look_here(void *unused)
{
	struct mw_shard *t = mw_ruby_above->thread();

	(void)unused;
	if (t) {
		MW_GUARD(t);
		(void)(mw_ruby_reads() ? mw_ruby_locate_line(t) : mw_ruby_locate(t));
	}
}

enum { ASK_AGAIN = 64 };

/* Without the GVL, or in GC. Another thread may get the job: so ask again now and then. */
static uint32_t pending(uintptr_t pc)
{
	static uint32_t asked; /* relaxed */
	uint32_t id = mw_callsite_pending_known(pc);

	if (id != MW_CS_NONE) {
		if (mw_add(&asked, 1) % ASK_AGAIN == 0)
			mw_ruby_ask_for(MW_RUBY_AFTER_BLOCKING);
		return id;
	}
	mw_callsites_maintain();
	(void)__atomic_fetch_or(&pending_seen, pending_bit(pc), __ATOMIC_RELAXED);
	id = mw_callsite_pending(pc);
	mw_add(&pending_open, 1);
	mw_ruby_ask_for(MW_RUBY_AFTER_BLOCKING);
	return id;
}

/* At the 1st, 2nd, 4th … miss, and at one in 256. */
void mw_ruby_verify_now_and_then(struct mw_shard *t)
{
	static uint32_t misses; /* relaxed; one may be overlooked */
	uint32_t n = mw_get(&misses) + 1;
	const char *why;

	mw_set(&misses, n);
	if ((n % 256 == 0 || (n < 256 && (n & (n - 1)) == 0)) && mw_ruby_verify(&why) < 0)
		doubt(t, why);
}

/* The location of the frame at cfp; MW_CS_NONE: not Ruby after all. */
static uint32_t miss(struct mw_shard *t, const char *ec, const char *cfp)
{
	struct answer a;

	if (mw_ruby_look_for_jit())
		return mw_ruby_locate_line(t);
	if (!mw_ruby_may_ask())
		return pending(mw_ruby_at(cfp).pc);
	mw_callsites_maintain();
	a = ask_ruby(ec);
	if (a.id != MW_CS_NONE) {
		remember_all(t, ec, &a);
		mw_ruby_verify_now_and_then(t);
	}
	return a.id;
}

/* --- the fast way ------------------------------------------------------------------------- */

/*
 * The id cached for the innermost frame from *cfp on that isn't to be skipped; *cfp is that frame then. MW_CS_NONE: it isn't
 * cached; or there is none, and *cfp is NULL.
 */
static uint32_t recall_line(struct mw_shard *t, const char **cfp, const char *end)
{
	for (; *cfp; *cfp = mw_ruby_frame(*cfp + mw_ruby.frame_size, end)) {
		uint32_t id = mw_caller_recall(t, mw_ruby_at(*cfp).pc);

		if (id != MW_CALLER_SKIP)
			return id;
	}
	return MW_CS_NONE;
}

/*
 * Nothing but Ruby's own code runs. A start, before the app's first line, has thousands of allocations there, while a
 * file is compiled.
 */
static uint32_t own_line(struct mw_shard *t, const char *ec)
{
	const char *end, *cfp = mw_ruby_stack(ec, &end);
	bool starts = mw_get(&mw_ruby_starts) && mw_get(&mw_ruby.how) == MW_RUBY_FAST;
	uintptr_t key = starts ? mw_ruby_own_key(cfp, end) : 0;
	struct mw_caller_time when = mw_caller_time(key);
	struct answer a = ask_ruby(NULL);

	if (key && a.own && a.id != MW_CS_OTHER)
		mw_caller_remember(t, key, a.id, when);
	else if (key && a.id == MW_CS_NONE && !a.holds)
		mw_caller_remember(t, key, MW_CALLER_SKIP, when);
	return a.id;
}

uint32_t mw_ruby_locate_line(struct mw_shard *t)
{
	const char *ec = mw_ruby_ec(), *cfp, *end;
	uint32_t id;

	cfp = ec ? mw_ruby_stack(ec, &end) : NULL;
	cfp = cfp ? mw_ruby_frame(cfp, end) : NULL;
	if (!cfp)
		return MW_CS_NONE;
	id = recall_line(t, &cfp, end);
	if (id != MW_CS_NONE)
		return id;
	if (cfp)
		return miss(t, ec, cfp);
	return mw_ruby_may_ask() ? own_line(t, ec) : MW_CS_NONE;
}

uint32_t mw_ruby_locate(struct mw_shard *t)
{
	uint32_t bt = mw_get(&mw_bt);

	if (!mw_ruby_reads())
		return not_fast(bt);
	return bt ? mw_chain_locate(t, bt) : mw_ruby_locate_line(t);
}

/* --- the check -------------------------------------------------------------------------------- */

/* Is GC.count still at the address that is read? The GC may run between two reads. */
static void check_count(void)
{
	uint32_t before, read;

	if (mw_get(&mw_clock.asked))
		return;
	before = (uint32_t)mw_rb.rb_gc_count();
	read = mw_generation_read();
	if (read != before && before == (uint32_t)mw_rb.rb_gc_count())
		mw_ruby_use_count(NULL);
}

/* Has the execution context no stack any more? That is so in a thread that ends. */
static bool has_ended(const char *ec)
{
	uintptr_t base, words;

	return mw_peek((uintptr_t)ec + MW_EC_STACK, &base) && !base &&
	       mw_peek((uintptr_t)ec + MW_EC_STACK_WORDS, &words) && !words;
}

/*
 * The fast way sees no Ruby code, though Ruby runs this thread: a C function that Ruby code didn't
 * call, a thread that ends, or the wrong address. Only in the first case may Ruby be asked.
 */
static void check_nothing(struct mw_shard *t, const char *ec)
{
	struct mw_ruby_stack s;

	if (mw_ruby_read_stack((uintptr_t)ec, &s) && ask_ruby(NULL).id == MW_CS_NONE)
		return;
	if (has_ended(ec))
		mw_ruby_ask_for(MW_RUBY_WHEN_DOUBTED);
	else
		doubt(t, "the fast lookup sees no Ruby code where there is some");
}

void mw_ruby_check(struct mw_shard *t)
{
	const char *ec = mw_ruby_ec();
	const char *end = NULL, *cfp = ec ? mw_ruby_stack(ec, &end) : NULL;
	uint32_t fast, pub, bt = mw_get(&mw_bt);

	check_count();
	if (!mw_ruby_may_ask())
		return;
	mw_ruby_look_for_count();
	cfp = cfp ? mw_ruby_frame(cfp, end) : NULL;
	if (!cfp) {
		check_nothing(t, ec);
		return;
	}
	fast = bt ? mw_chain_recall(t, bt) : recall_line(t, &cfp, end);
	if (fast == MW_CS_NONE)
		return;
	pub = bt ? mw_chain_ask(bt) : ask_ruby(ec).id;
	if (pub == fast || pub == MW_CS_NONE || pub == MW_CS_OTHER)
		mw_set(doubts_of(t), 0);
	else
		mw_ruby_go_public("the fast lookup named another line than Ruby");
}
