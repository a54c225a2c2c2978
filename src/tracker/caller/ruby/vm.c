/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vm.c - finds Ruby's functions at load, and the way to its lines once its VM is up. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "jit.h"
#include "jit_code.h"
#include "look.h"
#include "state.h"
#include "tracker/table/generation.h"
#include "tracker/table/snapshot.h"
#include "tracker/table/tail.h"

static bool public_wanted; /* $MWRAP_RUBY_PUBLIC at load: Ruby moves the environment later */
static uint32_t finding;   /* one thread looks at a time */

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

/* Of the object with that address: another may stand in for one of Ruby's functions. */
static int note_variables(struct dl_phdr_info *info, size_t unused, void *of)
{
	uintptr_t at = (uintptr_t)of, constant = 0;
	struct mw_ruby_range r = { 0, 0 };
	bool here = false;

	(void)unused;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_GNU_RELRO)
			constant = from + h->p_memsz;
		if (h->p_type != PT_LOAD)
			continue;
		here |= at - from < h->p_memsz;
		if (h->p_flags & PF_W)
			r = (struct mw_ruby_range){ from, from + h->p_memsz };
	}
	if (!here)
		return 0;
	r.from = constant > r.from ? constant : r.from;
	mw_ruby_variables = r;
	return 1;
}

/* A job: at a safe point of Ruby's own, where Ruby may allocate. */
static void vm_is_up(void *unused)
{
	static bool done;

	(void)unused;
	if (done)
		return;
	done = true;
	if (mw_jit_may_run())
		mw_jit_code_find();
	mw_ruby_above->up();
}

void mw_ruby_init(const struct mw_ruby_above *above)
{
	bool all = true;

	mw_ruby_above = above;
	mw_ruby_job_runs(MW_RUBY_AT_START, vm_is_up);
	mw_ruby_job_runs(MW_RUBY_AFTER_BLOCKING, mw_ruby_look_here);
	mw_ruby_job_runs(MW_RUBY_WHEN_DOUBTED, mw_ruby_look_again);
#define X(name, result, params, needed)                            \
	mw_rb.name = (result(*) params)dlsym(RTLD_DEFAULT, #name); \
	if (needed && !mw_rb.name)                                 \
		all = false;
	MW_FOR_EACH_RUBY(X)
#undef X
	mw_rb.rb_cObject = dlsym(RTLD_DEFAULT, "rb_cObject");
	mw_rb.rb_zjit_entry = dlsym(RTLD_DEFAULT, "rb_zjit_entry");
	mw_rb.rb_cComplex = dlsym(RTLD_DEFAULT, "rb_cComplex");
	mw_yjit_find();
	if (!all || !mw_rb.rb_cComplex) {
		mw_life_scale = 1 << MW_CLOCK_SHIFT;
		return;
	}
	mw_ruby_version = dlsym(RTLD_DEFAULT, "ruby_version");
	public_wanted = getenv("MWRAP_RUBY_PUBLIC") != NULL;
	mw_clock.in_bytes = false;
	mw_clock.gc_count = mw_rb.rb_gc_count;
	(void)dl_iterate_phdr(note_range, (void *)(uintptr_t)mw_rb.rb_gc_count);
	(void)dl_iterate_phdr(note_variables, (void *)(uintptr_t)mw_rb.rb_cObject);
	mw_ruby_becomes(MW_RUBY_STARTING);
}

/* --- the VM comes up --------------------------------------------------------------- */

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
	/* the first frames may be half made: one that verifies will come, or has come if the environment decides */
	if (found == 0 || (found < 0 && !mw_get(&mw_ruby_verified) && ++misfits <= MISFITS))
		return;
	if (mw_real_joined && (mw_yjit_runs() || mw_zjit_runs()))
		mw_ruby_jit_begins();
	mw_ruby_use_count(find_count());
	mw_ruby.why = found > 0 ? "" : why;
	if (found > 0)
		mw_plant_checked();
	mw_ruby_becomes(found <= 0 ? MW_RUBY_PUBLIC : mw_zjit_runs() ? MW_RUBY_JIT : MW_RUBY_FAST);
	mw_ruby_jobs_prepare();
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
