/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ruby.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../table/read.h"
#include "process.h"
#include "ruby_api.h"
#include "track.h"

struct mw_ruby mw_ruby;
struct mw_ruby_api mw_rb;

static uint32_t pending_open;  /* relaxed: pending locations not resolved yet */
static bool public_wanted;     /* $MWRAP_RUBY_PUBLIC at load: Ruby moves the environment later */
static uint32_t finding;       /* one thread looks at a time */

static void set_how(uint32_t how)
{
	__atomic_store_n(&mw_ruby.how, how, __ATOMIC_RELEASE);
	mw_fit_choose(); /* after it: the usual path of malloc takes the fast way for granted */
}

void mw_ruby_init(void)
{
	bool all = true;

#define X(name, result, params, needed)                                           \
	mw_rb.name = (result(*) params)dlsym(RTLD_DEFAULT, #name);                \
	if (needed && !mw_rb.name)                                                \
		all = false;
	MW_FOR_EACH_RUBY(X)
#undef X
	mw_rb.rb_cComplex = dlsym(RTLD_DEFAULT, "rb_cComplex");
	if (!all || !mw_rb.rb_cComplex) {
		mw_life_scale = 1 << MW_CLOCK_SHIFT;
		return;
	}
	public_wanted = getenv("MWRAP_RUBY_PUBLIC") != NULL;
	mw_clock.in_bytes = false;
	mw_clock.gc_count = mw_rb.rb_gc_count;
	set_how(MW_RUBY_STARTING);
}

const char *mw_ruby_how_name(void)
{
	static const char *const names[] = { "none", "starting", "fast", "public", "ended" };

	return names[mw_get(&mw_ruby.how)];
}

/* --- the VM comes up, and goes --------------------------------------------------------- */

static void vm_ended(void *vm)
{
	(void)vm;
	mw_set(&mw_clock.still, (uint32_t)mw_rb.rb_gc_count());
	__atomic_store_n(&mw_clock.now, &mw_clock.still, __ATOMIC_RELEASE);
	mw_set(&mw_clock.asked, false);
	set_how(MW_RUBY_ENDED);
}

/* At a safe point of Ruby's own, where it may be asked to allocate. */
static void vm_is_up(void *unused)
{
	static bool done;

	(void)unused;
	if (done)
		return;
	done = true;
	mw_quiet_enter();
	mw_rb.ruby_vm_at_exit(vm_ended);
	mw_quiet_leave();
	mw_server_go();
	mw_dumper_start();
}

/*
 * Runs once a blocking call is over, mostly in the thread that made it, which
 * is still at the same line: what was allocated during the call can be named.
 */
static void look_here(void *unused)
{
	struct mw_thread *t = mw_usual();

	(void)unused;
	if (!t)
		return;
	mw_enter(t);
	(void)mw_ruby_where(t);
	mw_leave(t);
}

/* Ruby calls a job at a safe point of its own. */
static struct job {
	void (*run)(void *);
	unsigned handle; /* where Ruby wants jobs to be known before */
} at_start = { vm_is_up, 0 }, after_blocking = { look_here, 0 };

/* With the GVL, once. */
static void prepare_jobs(void)
{
	if (!mw_rb.rb_postponed_job_preregister)
		return;
	at_start.handle = mw_rb.rb_postponed_job_preregister(0, at_start.run, NULL);
	after_blocking.handle = mw_rb.rb_postponed_job_preregister(0, after_blocking.run, NULL);
}

/* Any thread, also without the GVL. */
static void ask_for(const struct job *j)
{
	if (mw_rb.rb_postponed_job_preregister && mw_rb.rb_postponed_job_trigger)
		mw_rb.rb_postponed_job_trigger(j->handle);
	else if (mw_rb.rb_postponed_job_register_one)
		(void)mw_rb.rb_postponed_job_register_one(0, j->run, NULL);
}

/* Where GC.count is to be read, or NULL: nowhere. */
static void use_count(const uint32_t *count)
{
	if (!count) {
		mw_set(&mw_clock.still, (uint32_t)mw_rb.rb_gc_count());
		mw_set(&mw_clock.asked, true);
		mw_fit_choose();
		count = &mw_clock.still;
	}
	__atomic_store_n(&mw_clock.now, count, __ATOMIC_RELEASE);
}

static void go_public(const char *why)
{
	mw_ruby.why = why;
	set_how(MW_RUBY_PUBLIC);
}

enum { MISFITS = 500 };

static void look_for_vm(void)
{
	static unsigned misfits; /* under `finding` */
	const char *why = "";
	int found;

	/* until here only a load: `ruby` allocates thousands of blocks before */
	if (!*mw_rb.rb_cComplex || !mw_ruby_may_ask() ||
	    __atomic_exchange_n(&finding, 1, __ATOMIC_ACQUIRE))
		return;
	if (mw_get(&mw_ruby.how) == MW_RUBY_STARTING) {
		found = public_wanted ? -1 : mw_ruby_find(&why);
		/* the first frames may be half made: one that fits will come */
		if (found > 0 || (found < 0 && ++misfits > MISFITS)) {
			use_count(mw_ruby_find_count());
			mw_ruby.why = why;
			set_how(found > 0 ? MW_RUBY_FAST : MW_RUBY_PUBLIC);
			prepare_jobs();
			ask_for(&at_start);
		}
	}
	__atomic_store_n(&finding, 0, __ATOMIC_RELEASE);
}

/* --- the public way ---------------------------------------------------------------------- */

static bool is_internal(const char *path)
{
	return strncmp(path, "<internal:", 10) == 0;
}

enum { FRAMES = 48, T_MASK = 0x1f, T_STRING = 0x05 };

/* A frame's path, or NULL for one of a C function. No allocation, no raise. */
static const char *path_of(mw_value frame)
{
	volatile mw_value s = mw_rb.rb_profile_frame_path(frame);

	if (s % sizeof(uintptr_t) || s < 0x1000 || (MW_AT(uintptr_t, s, 0) & T_MASK) != T_STRING)
		return NULL;
	return mw_rb.rb_string_value_ptr(&s);
}

/* What the public calls say of the present stack. */
struct answer {
	uint32_t id;      /* MW_CS_NONE: no Ruby code is running */
	unsigned skipped; /* frames of Ruby's own code above the one that is named */
	bool holds;       /* wherever that frame's pc is seen again */
};

/*
 * The line that a user wants: the innermost frame whose file is not Ruby's
 * own. With the GVL, outside GC. Allocates nothing.
 */
static struct answer ask_ruby(void)
{
	const char *path = mw_rb.rb_sourcefile();
	int line = mw_rb.rb_sourceline();
	struct answer a = { MW_CS_NONE, 0, true };
	mw_value frames[FRAMES];
	int lines[FRAMES], n;

	if (!path || line <= 0) /* while a file is being read, before its first line */
		return a;
	if (!is_internal(path)) { /* the usual case; also right for a frame that YJIT runs */
		a.id = mw_callsite_ruby(path, strlen(path), (uint64_t)line);
		return a;
	}
	n = mw_rb.rb_profile_frames(0, FRAMES, frames, lines);
	for (int i = 0; i < n; i++) {
		const char *p = path_of(frames[i]);

		if (!p)
			continue;
		if (!is_internal(p) && lines[i] > 0) {
			a.id = mw_callsite_ruby(p, strlen(p), (uint64_t)lines[i]);
			return a;
		}
		a.skipped++;
	}
	/* Ruby's own code and nothing below it: better than no line, but true
	   of this stack only */
	a.holds = false;
	a.id = mw_callsite_ruby(path, strlen(path), (uint64_t)line);
	return a;
}

/* STARTING: has it come up? PUBLIC: ask. ENDED: nothing. */
static uint32_t not_fast(void)
{
	switch (mw_get(&mw_ruby.how)) {
	case MW_RUBY_STARTING:
		look_for_vm();
		return MW_CS_NONE;
	case MW_RUBY_PUBLIC:
		if (!mw_ruby_may_ask())
			return MW_CS_NONE;
		mw_callsites_maintain();
		return ask_ruby().id;
	default:
		return MW_CS_NONE;
	}
}

/* --- a pc that isn't remembered ---------------------------------------------------------- */

/*
 * May the pc of this frame be remembered? Only if we will see the free of
 * the block that holds its instructions: then it is flagged.
 */
static bool flag_code(const char *cfp)
{
	uintptr_t body = MW_AT(uintptr_t, MW_AT(uintptr_t, cfp, MW_CFP_ISEQ), mw_ruby.body);
	const void *code = MW_AT(const void *, body, MW_BODY_CODE);
	uintptr_t pc = MW_AT(uintptr_t, cfp, MW_CFP_PC);
	struct mw_record *r;

	if (!code || pc < (uintptr_t)code ||
	    pc > (uintptr_t)code + (uintptr_t)MW_AT(uint32_t, body, MW_BODY_SIZE) * sizeof(uintptr_t))
		return false;
	if (!mw_record_if(mw_tail_read(code, mw_usable(code)), &r) || !mw_record_is(mw_get(&r->where), code))
		return false;
	if (!(mw_get(&r->where) & MW_CODE))
		__atomic_fetch_or(&r->where, MW_CODE, __ATOMIC_RELAXED);
	return true;
}

static void remember(struct mw_thread *t, const char *cfp, uint32_t id,
		     struct mw_where_time when)
{
	uintptr_t pc = MW_AT(uintptr_t, cfp, MW_CFP_PC);

	if (id == MW_CS_OTHER || !flag_code(cfp))
		return;
	mw_where_remember(t, pc, id, when);
	if (id != MW_WHERE_SKIP && mw_get(&pending_open)) {
		uint32_t p = mw_callsite_pending_known(pc);

		if (p != MW_CS_NONE) {
			mw_callsite_resolve(p, id);
			mw_add(&pending_open, (uint32_t)-1);
		}
	}
}

static struct mw_where_time time_of(const char *cfp)
{
	return mw_where_time(MW_AT(uintptr_t, cfp, MW_CFP_PC));
}

/* Remembers the frames that the answer passed over, then the one it named. */
static void remember_all(struct mw_thread *t, const char *ec, const struct answer *a)
{
	const char *end, *cfp = mw_ruby_stack(ec, &end);
	unsigned over = 0;

	while (cfp && (cfp = mw_ruby_frame(cfp, end)) && over < a->skipped) {
		remember(t, cfp, MW_WHERE_SKIP, time_of(cfp));
		cfp += mw_ruby.frame_size;
		over++;
	}
	if (cfp && a->holds)
		remember(t, cfp, a->id, time_of(cfp));
}

enum { ASK_AGAIN = 64 };

/* Without the GVL, or in GC. Another thread may get the job: asked for again now and then. */
static uint32_t pending(uintptr_t pc)
{
	static uint32_t asked; /* relaxed */
	uint32_t id = mw_callsite_pending_known(pc);

	if (id != MW_CS_NONE) {
		if (mw_add(&asked, 1) % ASK_AGAIN == 0)
			ask_for(&after_blocking);
		return id;
	}
	mw_callsites_maintain();
	id = mw_callsite_pending(pc);
	mw_add(&pending_open, 1);
	ask_for(&after_blocking);
	return id;
}

/* Where the frame at cfp is; MW_CS_NONE: not Ruby after all. */
static uint32_t miss(struct mw_thread *t, const char *ec, const char *cfp)
{
	struct answer a;

	if (!mw_ruby_may_ask())
		return pending(MW_AT(uintptr_t, cfp, MW_CFP_PC));
	mw_callsites_maintain();
	a = ask_ruby();
	if (a.id != MW_CS_NONE)
		remember_all(t, ec, &a);
	return a.id;
}

/* --- the fast way ------------------------------------------------------------------------- */

uint32_t mw_ruby_where(struct mw_thread *t)
{
	const char *ec, *cfp, *end;
	uint32_t id;

	if (__atomic_load_n(&mw_ruby.how, __ATOMIC_ACQUIRE) != MW_RUBY_FAST)
		return not_fast();
	ec = mw_ruby_ec();
	cfp = ec ? mw_ruby_stack(ec, &end) : NULL;
	cfp = cfp ? mw_ruby_frame(cfp, end) : NULL;
	if (!cfp)
		return MW_CS_NONE;
	for (; cfp; cfp = mw_ruby_frame(cfp + mw_ruby.frame_size, end)) {
		id = mw_where_recall(t, MW_AT(uintptr_t, cfp, MW_CFP_PC));
		if (id == MW_CS_NONE)
			return miss(t, ec, cfp);
		if (id != MW_WHERE_SKIP)
			return id;
	}
	/* nothing but Ruby's own code: there is nothing to remember */
	return mw_ruby_may_ask() ? ask_ruby().id : MW_CS_NONE;
}

/* --- the check -------------------------------------------------------------------------------- */

/* The frame at cfp is to be passed over: what is remembered of the next? */
static uint32_t recall_below(struct mw_thread *t, const char *cfp, const char *end)
{
	while ((cfp = mw_ruby_frame(cfp + mw_ruby.frame_size, end))) {
		uint32_t id = mw_where_recall(t, MW_AT(uintptr_t, cfp, MW_CFP_PC));

		if (id != MW_WHERE_SKIP)
			return id;
	}
	return MW_CS_NONE;
}

/* What the fast way says, without asking Ruby; MW_CS_NONE: it would have to. */
static uint32_t fast_where(struct mw_thread *t)
{
	const char *ec = mw_ruby_ec();
	const char *end, *cfp = ec ? mw_ruby_stack(ec, &end) : NULL;
	uint32_t id;

	cfp = cfp ? mw_ruby_frame(cfp, end) : NULL;
	if (!cfp)
		return MW_CS_NONE;
	id = mw_where_recall(t, MW_AT(uintptr_t, cfp, MW_CFP_PC));
	return id != MW_WHERE_SKIP ? id : recall_below(t, cfp, end);
}

void mw_ruby_check(struct mw_thread *t)
{
	uint32_t fast = fast_where(t), pub;

	if (!mw_get(&mw_clock.asked) && mw_generation_read() != (uint32_t)mw_rb.rb_gc_count())
		use_count(NULL);
	if (fast == MW_CS_NONE || !mw_ruby_may_ask())
		return;
	pub = ask_ruby().id;
	if (pub == fast || pub == MW_CS_NONE || pub == MW_CS_OTHER)
		return;
	go_public("the fast lookup named another line than Ruby");
}
