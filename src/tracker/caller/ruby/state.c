/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "shared/sys/clock.h"
#include "shared/sys/sys.h"
#include "tracker/table/snapshot.h"
#include "jit.h"
#include "look.h"
#include "tracker/table/generation.h"
#include "tracker/table/tail.h"

struct mw_ruby mw_ruby;
uint32_t mw_ruby_body;
bool mw_ruby_verified;
struct mw_ruby_api mw_rb;
const char *mw_ruby_version;
const struct mw_ruby_above *mw_ruby_above;

static bool reserved;          /* relaxed: a JIT may run */
static bool public_wanted;     /* $MWRAP_RUBY_PUBLIC at load: Ruby moves the environment later */
static uint32_t finding;       /* one thread looks at a time */

static void set_how(uint32_t how)
{
	__atomic_store_n(&mw_ruby.how, how, __ATOMIC_RELEASE);
	mw_ruby_above->changed(); /* after `how`: a mode of malloc takes the fast way for granted */
}

/* False: it isn't `from`. */
static bool change_how(uint32_t from, uint32_t to)
{
	if (mw_get(&mw_ruby.how) != from ||
	    !__atomic_compare_exchange_n(&mw_ruby.how, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return false;
	mw_ruby_above->changed(); /* after `how`, as above */
	return true;
}

uintptr_t mw_ruby_start, mw_ruby_end;

static int note_range(struct dl_phdr_info *info, size_t unused, void *of)
{
	uintptr_t at = (uintptr_t)of, start = UINTPTR_MAX, end = 0;

	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + h->p_vaddr;

		if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
			continue;
		start = from < start ? from : start;
		end = from + h->p_memsz > end ? from + h->p_memsz : end;
	}
	if (at < start || at >= end)
		return 0;
	mw_ruby_start = start;
	mw_ruby_end = end;
	return 1;
}

/* Does YJIT run? Up to 3.3 a function tells, later a variable; what isn't exported tells nothing. */
static bool (*ask_yjit)(void);
static const bool *yjit;

static bool yjit_runs(void)
{
	return ask_yjit ? ask_yjit() : yjit && *yjit;
}

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

static void find_yjit(void)
{
	void *at = dlsym(RTLD_DEFAULT, "rb_yjit_enabled_p");
	uintptr_t address = (uintptr_t)at;

	if (!at)
		return;
	if (dl_iterate_phdr(has_code, &address))
		ask_yjit = (bool (*)(void))(uintptr_t)at;
	else
		yjit = at;
}

void mw_ruby_init(const struct mw_ruby_above *above)
{
	bool all = true;

	mw_ruby_above = above;
#define X(name, result, params, needed)                            \
	mw_rb.name = (result(*) params)dlsym(RTLD_DEFAULT, #name); \
	if (needed && !mw_rb.name)                                 \
		all = false;
	MW_FOR_EACH_RUBY(X)
#undef X
	mw_rb.rb_cObject = dlsym(RTLD_DEFAULT, "rb_cObject");
	mw_rb.rb_zjit_entry = dlsym(RTLD_DEFAULT, "rb_zjit_entry");
	mw_rb.rb_cComplex = dlsym(RTLD_DEFAULT, "rb_cComplex");
	find_yjit();
	if (!all || !mw_rb.rb_cComplex) {
		mw_life_scale = 1 << MW_CLOCK_SHIFT;
		return;
	}
	mw_ruby_version = dlsym(RTLD_DEFAULT, "ruby_version");
	public_wanted = getenv("MWRAP_RUBY_PUBLIC") != NULL;
	mw_clock.in_bytes = false;
	mw_clock.gc_count = mw_rb.rb_gc_count;
	(void)dl_iterate_phdr(note_range, (void *)(uintptr_t)mw_rb.rb_gc_count);
	set_how(MW_RUBY_STARTING);
}

const char *mw_ruby_how_name(void)
{
	static const char *const names[] = { "none", "starting", "fast", "fast", "public", "ended" };

	return names[mw_get(&mw_ruby.how)];
}

const char *mw_ruby_count_name(void)
{
	switch (__atomic_load_n(&mw_ruby.how, __ATOMIC_ACQUIRE)) {
	case MW_RUBY_NONE:
		return "none";
	case MW_RUBY_STARTING:
		return "starting";
	case MW_RUBY_ENDED:
		return "ended";
	default:
		return mw_get(&mw_clock.asked) ? "call" : "memory";
	}
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

/*
 * Ruby frees what a job is noted in before it says that the VM ends. So no thread of ours asks for one from the end of
 * Ruby's code on. Sequentially consistent: either an asker sees `ending`, or the end sees the asker, and waits.
 */
static bool ending;
static uint32_t askers;

enum { ASKERS_MS = 100 }; /* a fork may have left one behind in the parent */

/* The last of Ruby's at_exit blocks, since it was the first to be registered. */
static void code_ended(mw_value unused)
{
	uint64_t until = mw_now_ns() + ASKERS_MS * UINT64_C(1000000);

	(void)unused;
	__atomic_store_n(&ending, true, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&askers, __ATOMIC_SEQ_CST) && mw_now_ns() < until)
		mw_sys_nap();
}

void mw_ruby_await_end(void)
{
	mw_rb.ruby_vm_at_exit(vm_ended);
	if (mw_rb.rb_set_end_proc)
		mw_rb.rb_set_end_proc(code_ended, 0);
}

/* A job: at a safe point of Ruby's own, where Ruby may allocate. */
static void vm_is_up(void *unused)
{
	static bool done;

	(void)unused;
	if (done)
		return;
	done = true;
	mw_ruby_above->up();
}

/* Ruby calls a job at a safe point of its own. */
static struct job {
	void (*run)(void *);
	unsigned handle; /* for Rubies whose jobs must be registered before */
} jobs[] = {
	[MW_RUBY_AT_START] = { vm_is_up, 0 },
	[MW_RUBY_AFTER_BLOCKING] = { mw_ruby_look_here, 0 },
	[MW_RUBY_WHEN_DOUBTED] = { mw_ruby_look_again, 0 },
};

/* With the GVL, once. */
static void prepare_jobs(void)
{
	if (!mw_rb.rb_postponed_job_preregister)
		return;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++)
		jobs[i].handle = mw_rb.rb_postponed_job_preregister(0, jobs[i].run, NULL);
}

static bool ask_for(void (*run)(void *), unsigned handle)
{
	if (mw_rb.rb_postponed_job_preregister && mw_rb.rb_postponed_job_trigger)
		mw_rb.rb_postponed_job_trigger(handle);
	else
		return mw_rb.rb_postponed_job_register_one &&
		       mw_rb.rb_postponed_job_register_one(0, run, NULL);
	return true;
}

void mw_ruby_ask_for(enum mw_ruby_job job)
{
	(void)ask_for(jobs[job].run, jobs[job].handle);
}

/* Ruby's functions may be called until let_go_of_ruby(): its end waits. False: it has ended, or has not begun. */
static bool hold(void)
{
	uint32_t how;

	__atomic_fetch_add(&askers, 1, __ATOMIC_SEQ_CST);
	how = mw_get(&mw_ruby.how);
	if (!__atomic_load_n(&ending, __ATOMIC_SEQ_CST) &&
	    (how == MW_RUBY_FAST || how == MW_RUBY_JIT || how == MW_RUBY_PUBLIC))
		return true;
	__atomic_fetch_sub(&askers, 1, __ATOMIC_SEQ_CST);
	return false;
}

static void let_go_of_ruby(void)
{
	__atomic_fetch_sub(&askers, 1, __ATOMIC_SEQ_CST);
}

bool mw_ruby_ask(void (*run)(void *))
{
	bool asked;

	if (!hold())
		return false;
	asked = ask_for(run, mw_rb.rb_postponed_job_preregister ?
				     mw_rb.rb_postponed_job_preregister(0, run, NULL) :
				     0);
	let_go_of_ruby();
	return asked;
}

bool mw_ruby_while(void (*f)(void *), void *ctx)
{
	if (!hold())
		return false;
	f(ctx);
	let_go_of_ruby();
	return true;
}

void mw_ruby_use_count(const uint32_t *count)
{
	bool ask = !count;

	if (ask) {
		mw_set(&mw_clock.still, (uint32_t)mw_rb.rb_gc_count());
		mw_set(&mw_clock.asked, true);
		mw_ruby_above->changed();
		count = &mw_clock.still;
	}
	__atomic_store_n(&mw_clock.now, count, __ATOMIC_RELEASE);
	if (!ask && mw_get(&mw_clock.asked)) {
		__atomic_store_n(&mw_clock.asked, false, __ATOMIC_RELEASE); /* after `now` */
		mw_ruby_above->changed();
	}
}

void mw_ruby_go_public(const char *why)
{
	if (!mw_ruby_reads())
		return;
	mw_set(&mw_ruby_verified, false);
	mw_ruby.why = why;
	if (!change_how(MW_RUBY_FAST, MW_RUBY_PUBLIC)) /* the VM may have ended meanwhile */
		(void)change_how(MW_RUBY_JIT, MW_RUBY_PUBLIC);
}

static bool late; /* relaxed: it left a frame without its pc */

void mw_ruby_jit_begins(void)
{
	mw_set(&reserved, true);
	if (mw_rb.rb_zjit_entry)
		(void)change_how(MW_RUBY_FAST, MW_RUBY_JIT);
}

bool mw_jit_may_run(void)
{
	return mw_get(&reserved);
}

bool mw_ruby_look_for_jit(void)
{
	if (!mw_get(&late))
		mw_set(&late, mw_jit_late() != MW_JIT_NOT_LATE);
	if (mw_zjit_runs() || mw_get(&late))
		return change_how(MW_RUBY_FAST, MW_RUBY_JIT);
	if (yjit_runs()) /* no other can begin */
		(void)change_how(MW_RUBY_JIT, MW_RUBY_FAST);
	return false;
}

/* As mw_ruby_find; 1: found and verified. */
static int find_and_verify(const char **why)
{
	const char *path;
	int found;

	found = mw_ruby_find(why);
	if (found > 0) {
		mw_plant_found();
		found = mw_ruby_verify(why);
		if (found == 0 && mw_ruby_innermost(&path) > 0) {
			*why = "none of the frames could be compared";
			found = -1;
		}
	}
	if (found > 0)
		mw_set(&mw_ruby_verified, true);
	if (!public_wanted || !found)
		return found;
	*why = "MWRAP_RUBY_PUBLIC is set";
	return -1;
}

static const uint32_t *find_count(void)
{
	const uint32_t *count = mw_ruby_find_count();

	mw_plant_count(&count);
	return mw_ruby_verify_count(count) ? count : NULL;
}

enum { MISFITS = 500 };

/* Under `finding`. */
static void try_to_start(void)
{
	static unsigned misfits;
	const char *why = "";
	int found;

	if (mw_get(&mw_ruby.how) != MW_RUBY_STARTING)
		return;
	found = find_and_verify(&why);
	/* the first frames may be half made: one that verifies will come */
	if (found == 0 || (found < 0 && ++misfits <= MISFITS))
		return;
	if (mw_real_joined && (yjit_runs() || mw_zjit_runs()))
		mw_set(&reserved, true);
	mw_ruby_use_count(find_count());
	mw_ruby.why = found > 0 ? "" : why;
	if (found > 0)
		mw_plant_checked();
	set_how(found <= 0 ? MW_RUBY_PUBLIC : mw_zjit_runs() ? MW_RUBY_JIT : MW_RUBY_FAST);
	prepare_jobs();
	mw_ruby_ask_for(MW_RUBY_AT_START);
}

bool mw_ruby_look_for_vm(void)
{
	/* one load decides at first: `ruby` allocates thousands of blocks before its VM is up */
	if (!*mw_rb.rb_cComplex || !mw_ruby_may_ask())
		return false;
	if (!__atomic_exchange_n(&finding, 1, __ATOMIC_ACQUIRE)) {
		try_to_start();
		__atomic_store_n(&finding, 0, __ATOMIC_RELEASE);
	}
	return true;
}
