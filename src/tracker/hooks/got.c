/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "got.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "shared/sys/libc.h"
#include "shared/sys/atomics.h"
#include "shared/sys/sys.h"
#include "tracker/base/own_thread.h"
#include "cxx.h"
#include "tracker/real/entries.h"
#include "tracker/real/real.h"
#include "tracker/track/track.h"

/* --- which functions ------------------------------------------------------------------ */

struct hook {
	const char *name;
	bool cxx;
	uintptr_t real, entry, ours; /* 0: not found (yet); entry: see mw_real_entry */
};

static struct hook hooks[] = {
#define MW_HOOK_REAL(name, result, params) { #name, false, 0, 0, 0 },
#define MW_HOOK(name) { #name, false, 0, 0, 0 },
#define MW_HOOK_CXX(name) { #name, true, 0, 0, 0 },
#include "api/hooks.def"
	/* not of the list: a preloaded tracker has nothing to do there */
	{ "dlsym", false, 0, 0, 0 },
};
enum { HOOKS = sizeof(hooks) / sizeof(*hooks), MALLOC = 0, FREE = 1 };

static void *(*real_dlsym)(void *, const char *);

/*
 * A program that loads a library asks for a function of it next. So the library's calls are led before the
 * first of them. A tail call: dlsym(3) looks at who called it.
 */
static void *dlsym_after_load(void *handle, const char *name)
{
	mw_got_catch_up();
	return real_dlsym(handle, name);
}

/* The tracker's own function of that name; dlsym() by RTLD_DEFAULT would find the real one. */
static uintptr_t own(const char *name)
{
	struct mw_object me;

	if (strcmp(name, "dlsym") == 0)
		return (uintptr_t)dlsym_after_load;
	if (!mw_object_of((uintptr_t)hooks, &me))
		return 0;
	return (uintptr_t)real_dlsym((void *)(uintptr_t)me.map, name);
}

enum { BUCKETS = 512 };
/* One more than an index of hooks[], by its address; 0: none. Open addressing; release */
static uint8_t by_value[BUCKETS];
_Static_assert(HOOKS < BUCKETS / 4, "room for all");

static uint32_t bucket(uintptr_t value)
{
	return (uint32_t)(value >> 4 ^ value >> 12) % BUCKETS;
}

static void index_hook(uint8_t i, uintptr_t value)
{
	uint32_t b = bucket(value);

	while (by_value[b])
		b = (b + 1) % BUCKETS;
	__atomic_store_n(&by_value[b], i + 1, __ATOMIC_RELEASE);
}

static struct mw_step finding;
static uint32_t finder; /* a thread finds them */

/*
 * Finds functions that weren't found yet: a library may have come that has them. Not within a pass: it
 * allocates, and waits for the linker's lock, which a thread in a constructor holds.
 */
static void find_functions(void)
{
	if (__atomic_exchange_n(&finder, 1, __ATOMIC_ACQUIRE))
		return; /* one does */
	mw_step_begin(&finding, MW_RANK_FINDING_STEP);
	mw_quiet_enter();
	if (!real_dlsym)
		*(void **)&real_dlsym = mw_real_next("dlsym");
	for (uint8_t i = 0; i < HOOKS; i++) {
		struct hook *h = &hooks[i];

		if (h->real)
			continue;
		if (!h->ours)
			h->ours = own(h->name);
		h->real = (uintptr_t)(h->cxx ? mw_cxx_next(h->name, 0) : mw_real_next(h->name));
		if (!h->real)
			continue;
		index_hook(i, h->real);
		h->entry = (uintptr_t)mw_real_entry(h->name);
		if (h->entry)
			index_hook(i, h->entry);
	}
	mw_quiet_leave();
	mw_step_end(&finding, MW_RANK_FINDING_STEP);
	__atomic_store_n(&finder, 0, __ATOMIC_RELEASE);
}

/* --- one object ----------------------------------------------------------------------- */

struct pass {
	bool to_hooks;
	uintptr_t own, own_bytes; /* where the tracker is */
	const void *in; /* an address in the object that must get there; NULL: none must */
	uint64_t loads; /* libraries loaded so far */
	bool missed; /* an object that a thread is loading */
	bool malloc_led, free_led; /* in that object */
};

/* False: none of ours to change, or it isn't relocated yet: then the pass has missed it. */
static bool read_object(struct mw_entries *o, const struct dl_phdr_info *info, struct pass *p)
{
	const ElfW(Dyn) * dynamic;
	struct mw_object found;

	if (info->dlpi_addr == mw_linker()->r_ldbase ||
	    !mw_entries_find(o, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &dynamic))
		return false;
	if (!mw_object_of((uintptr_t)dynamic, &found) || found.map->l_ld != dynamic) {
		p->missed = true;
		return false;
	}
	o->page_size = mw_page_size();
	return mw_entries_read(o, dynamic);
}

/* --- one entry ------------------------------------------------------------------------- */

/* Two functions may have one address (mmap and mmap64): the name chooses. */
static const struct hook *hook_of_value(const struct mw_entries *o, const ElfW(Rela) * r, uintptr_t value)
{
	const struct hook *found = NULL;

	uint8_t i;

	for (uint32_t b = bucket(value); (i = __atomic_load_n(&by_value[b], __ATOMIC_ACQUIRE));
	     b = (b + 1) % BUCKETS) {
		const struct hook *h = &hooks[i - 1];

		if ((h->real == value || h->entry == value) &&
		    (!found || strcmp(h->name, mw_entry_name(o, r)) == 0))
			found = h;
	}
	return found;
}

static const struct hook *hook_of_name(const struct mw_entries *o, const ElfW(Rela) * r)
{
	const char *name = mw_entry_name(o, r);

	if (o->symbols[ELF64_R_SYM(r->r_info)].st_shndx != SHN_UNDEF)
		return NULL; /* its own */
	for (const struct hook *h = hooks; h < hooks + HOOKS; h++)
		if (h->name[0] == name[0] && strcmp(h->name, name) == 0)
			return h;
	return NULL;
}

static const struct hook *hook_of_ours(uintptr_t value)
{
	for (const struct hook *h = hooks; h < hooks + HOOKS; h++)
		if (h->ours == value)
			return h;
	return NULL;
}

/* Where the entry must lead; 0: it may stay. */
static uintptr_t target(const struct mw_entries *o, const ElfW(Rela) * r, uintptr_t value,
			const struct pass *p)
{
	const struct hook *h;

	if (!p->to_hooks) {
		h = value - p->own < p->own_bytes ? hook_of_ours(value) : NULL;
		return h ? h->real : 0;
	}
	h = hook_of_value(o, r, value);
	/* unbound: it leads into the object's own procedure linkage table */
	if (!h && ELF64_R_TYPE(r->r_info) == MW_ENTRY_CALL && mw_entries_segment(o, value))
		h = hook_of_name(o, r);
	return h ? h->ours : 0;
}

static void lead(struct mw_entries *o, const ElfW(Rela) * r, struct pass *p, bool watched)
{
	uintptr_t *entry, value, to;

	if (!mw_entry_at(o, r, &entry))
		return;
	value = __atomic_load_n(entry, __ATOMIC_RELAXED);
	to = target(o, r, value, p);
	if (to && mw_entries_open(o, entry)) {
		__atomic_store_n(entry, to, __ATOMIC_RELEASE);
		value = to;
	}
	if (watched) {
		p->malloc_led |= value == hooks[MALLOC].ours;
		p->free_led |= value == hooks[FREE].ours;
	}
}

static int lead_object(struct dl_phdr_info *info, size_t size, void *pass)
{
	struct pass *p = pass;
	struct mw_entries o;
	bool watched;

	if (size < sizeof(*info))
		return 1; /* an older C library's: nothing can be told */
	p->loads = info->dlpi_adds;
	if (!read_object(&o, info, p))
		return 0;
	watched = p->in && mw_entries_segment(&o, (uintptr_t)p->in);
	for (int t = 0; t < 2; t++)
		for (size_t i = 0; i < o.counts[t]; i++)
			lead(&o, &o.tables[t][i], p, watched);
	mw_entries_close(&o);
	return 0;
}

/* --- passes --------------------------------------------------------------------------- */

static struct mw_step step; /* a pass: a child must not find the linker's lock held */
static uint32_t taken; /* by the thread that makes a pass */
static bool led; /* entries lead to the hooks; relaxed */
static uint64_t loads; /* libraries loaded up to the last pass; 0: it missed one; relaxed */
static __thread bool mine __attribute__((tls_model("initial-exec"))); /* this thread makes it */

enum { CATCH_UP_MS = 20, NO_LIMIT = INT32_MAX };

/* False: another thread is in a pass for so long, or this one is, and a signal handler calls. */
static bool begin_pass(int ms)
{
	if (mine)
		return false;
	for (; __atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE); ms--) {
		if (!ms)
			return false;
		mw_nap();
	}
	mine = true;
	mw_step_begin(&step, MW_RANK_LEADING_STEP);
	return true;
}

static void end_pass(void)
{
	mw_step_end(&step, MW_RANK_LEADING_STEP);
	__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
	mine = false;
}

static struct pass run_pass(bool to_hooks, const void *in)
{
	struct pass p = { .to_hooks = to_hooks, .in = in };
	struct mw_object me;

	if (mw_object_of((uintptr_t)hooks, &me)) {
		p.own = me.start;
		p.own_bytes = me.end - me.start;
	}
	(void)dl_iterate_phdr(lead_object, &p);
	mw_set(&loads, p.missed ? 0 : p.loads);
	return p;
}

bool mw_got_to_hooks(const void *in)
{
	struct pass p;
	bool all;

	find_functions();
	if (!begin_pass(NO_LIMIT))
		return false;
	(void)run_pass(true, in);
	p = run_pass(true, in);
	all = p.malloc_led && p.free_led;
	if (!all)
		(void)run_pass(false, NULL);
	mw_set(&led, all);
	end_pass();
	return all;
}

void mw_got_to_real(void)
{
	if (!begin_pass(NO_LIMIT))
		return;
	mw_set(&led, false);
	(void)run_pass(false, NULL);
	(void)run_pass(false, NULL);
	end_pass();
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *to)
{
	if (size >= sizeof(*info))
		*(uint64_t *)to = info->dlpi_adds;
	return 1;
}

static bool has_loaded(void)
{
	uint64_t now = mw_get(&loads);

	(void)dl_iterate_phdr(count_loads, &now);
	return now != mw_get(&loads);
}

void mw_got_catch_up(void)
{
	bool some;

	if (!mw_get(&led) || !begin_pass(CATCH_UP_MS))
		return;
	some = has_loaded();
	end_pass();
	if (!some)
		return;
	find_functions();
	if (!begin_pass(CATCH_UP_MS))
		return;
	if (mw_get(&led))
		(void)run_pass(true, NULL);
	end_pass();
}

void mw_got_before_fork(uint64_t until)
{
	mw_step_before_fork(&finding, MW_RANK_FINDING_STEP, until);
	mw_step_before_fork(&step, MW_RANK_LEADING_STEP, until);
}

void mw_got_after_fork(int child)
{
	mw_step_after_fork(&step, MW_RANK_LEADING_STEP, child);
	mw_step_after_fork(&finding, MW_RANK_FINDING_STEP, child);
	if (child)
		finder = taken = 0; /* the thread that had them is gone */
}
