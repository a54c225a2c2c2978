/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cxx.c - C++'s operator new and delete.
 *
 * There are three cases. The first call decides, once:
 *
 *   malloc's   The next `new` is libstdc++'s or libc++'s, which is malloc in
 *              a loop. We call our malloc directly, with the right caller. If
 *              it fails, the library's `new` handles that (new_handler,
 *              bad_alloc).
 *   allocator  jemalloc, mimalloc and tcmalloc have a `new` of their own, on
 *              their malloc's heap. We call malloc instead. If it fails, the
 *              allocator's `new` handles that: it gets room for the tail, and
 *              the block is counted, unless that `new` called one of our hooks.
 *   foreign    Some library's `new`, on a heap unknown to us: calls pass on
 *              untouched.
 *
 * An exception may pass through these frames: the file is compiled with
 * -fexceptions, and nothing is held across the calls.
 */
#include "cxx.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "sized.h"
#include "tracker/table/record_of.h"
#include "tracker/track/shared.h"

typedef void *new_fn(size_t);
typedef void *new_nothrow_fn(size_t, const void *);
typedef void *new_aligned_fn(size_t, size_t);
typedef void *new_aligned_nothrow_fn(size_t, size_t, const void *);

enum owner { UNKNOWN, MALLOCS, ALLOCATOR, FOREIGN };
static int owner; /* enum owner; relaxed: each thread finds the same */

void *mw_cxx_next(const char *name, uintptr_t caller)
{
	static const char *const libs[] = { "libstdc++.so.6", "libc++.so.1" };
	void *f = mw_real_next(name), *lib;
	Dl_info i;

	for (size_t k = 0; !f && k < sizeof(libs) / sizeof(*libs); k++) {
		lib = dlopen(libs[k], RTLD_LAZY | RTLD_NOLOAD);
		if (lib) {
			f = dlsym(lib, name);
			dlclose(lib);
		}
	}
	if (!f && caller && dladdr((void *)caller, &i) && i.dli_fname) {
		lib = dlopen(i.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		if (lib) {
			f = dlsym(lib, name);
			dlclose(lib);
		}
	}
	return f;
}

/*
 * True if the program defines some of them itself. Its definitions win over ours, and
 * the standard library's others call them (a sized delete calls the plain one, new[]
 * calls new). So these must get the calls, not malloc and free.
 */
static bool program_has_own(void)
{
	static const char *const made_of[] = {
		"_Znwm", "_ZdlPv", "_Znam", "_ZdaPv", "_ZnwmSt11align_val_t", "_ZdlPvSt11align_val_t"
	};

	for (size_t k = 0; k < sizeof(made_of) / sizeof(*made_of); k++) {
		void *first = dlsym(RTLD_DEFAULT, made_of[k]);

		/* a tracker that was loaded later is never the first */
		if (first &&
		    (mw_real_joined ? mw_real_of_program(first) : !mw_real_same_object(first, &mw_life)))
			return true;
	}
	return false;
}

static enum owner find_owner(uintptr_t caller)
{
	const char *base;
	bool own;
	void *f;
	Dl_info i;

	mw_start();
	mw_quiet_enter();
	own = program_has_own() || mw_first.all; /* libstdc++'s call malloc, which isn't ours */
	f = mw_cxx_next("_Znwm", caller);
	mw_quiet_leave();
	if (own && f)
		return FOREIGN;
	if (!f || !dladdr(f, &i) || !i.dli_fname)
		return MALLOCS;
	base = strrchr(i.dli_fname, '/');
	base = base ? base + 1 : i.dli_fname;
	if (strncmp(base, "libstdc++.", 10) == 0 || strncmp(base, "libc++.", 7) == 0)
		return MALLOCS;
	return mw_real_same_object(f, (const void *)(uintptr_t)mw_real.malloc) ? ALLOCATOR : FOREIGN;
}

static enum owner owner_now(uintptr_t caller)
{
	int o = mw_get(&owner);

	if (mw_unlikely(o == UNKNOWN)) {
		o = (int)find_owner(caller);
		mw_set(&owner, o);
	}
	return (enum owner)o;
}

/* The next function of this name, found once. */
#define NEXT(type, name)                                           \
	__extension__({                                            \
		static type *f;                                    \
		type *g = mw_get(&f);                              \
		if (!g) {                                          \
			mw_quiet_enter();                          \
			g = (type *)mw_cxx_next(#name, MW_CALLER); \
			mw_quiet_leave();                          \
			mw_set(&f, g);                             \
		}                                                  \
		g;                                                 \
	})

/* Counts a block of the allocator's own `new`, if that didn't get it from a hook; n as the app asked. */
static void *counted(void *p, size_t n, uintptr_t caller)
{
	struct mw_record *r;

	return p && !mw_ref_of(p, mw_usable(p), &r) ? mw_admit_shared(p, n, caller) : p;
}

/* Calls `next` if malloc returned NULL, or if this isn't malloc's case. */
#define NEW(name, args_decl, n, ask, next_type, ...)                                \
	MW_EXPORT void *name args_decl;                                             \
	MW_EXPORT void *name args_decl                                              \
	{                                                                           \
		uintptr_t caller = MW_CALLER;                                       \
		enum owner o = owner_now(caller);                                   \
		next_type *next;                                                    \
		void *p;                                                            \
		if (mw_likely(o != FOREIGN)) {                                      \
			p = ask;                                                    \
			if (mw_likely(p != NULL))                                   \
				return p;                                           \
		}                                                                   \
		next = NEXT(next_type, name);                                       \
		if (!next)                                                          \
			return NULL;                                                \
		if (o != ALLOCATOR || mw_life != MW_ON || n > MW_SIZE_PADDED_MAX) { \
			size_t bytes = n;                                           \
			return next(bytes, ##__VA_ARGS__);                          \
		} else {                                                            \
			size_t bytes = mw_padded(n);                                \
			return counted(next(bytes, ##__VA_ARGS__), n, caller);      \
		}                                                                   \
	}
#define PLAIN mw_malloc_at(n, caller)
#define ALIGNED \
	mw_alloc_at(&(struct mw_alloc_call){ .how = MW_MEMALIGN, .n = n, .align = align }, caller)

NEW(_Znwm, (size_t n), n, PLAIN, new_fn)
NEW(_Znam, (size_t n), n, PLAIN, new_fn)
NEW(_ZnwmRKSt9nothrow_t, (size_t n, const void *nothrow), n, PLAIN, new_nothrow_fn, nothrow)
NEW(_ZnamRKSt9nothrow_t, (size_t n, const void *nothrow), n, PLAIN, new_nothrow_fn, nothrow)
NEW(_ZnwmSt11align_val_t, (size_t n, size_t align), n, ALIGNED, new_aligned_fn, align)
NEW(_ZnamSt11align_val_t, (size_t n, size_t align), n, ALIGNED, new_aligned_fn, align)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t align, const void *nothrow), n, ALIGNED,
    new_aligned_nothrow_fn, align, nothrow)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t align, const void *nothrow), n, ALIGNED,
    new_aligned_nothrow_fn, align, nothrow)

/*
 * An allocator's own delete may be told the size, and trust it. So we call its
 * plain free instead, which is right for every block of its heap, and look at the size
 * ourselves (sized.h). A foreign delete gets exactly the app's arguments.
 */
#define DELETE(name, decl, how, type, ...)                        \
	MW_EXPORT void name decl;                                 \
	MW_EXPORT void name decl                                  \
	{                                                         \
		if (mw_likely(owner_now(MW_CALLER) != FOREIGN)) { \
			how;                                      \
		} else {                                          \
			type *next = NEXT(type, name);            \
			if (next)                                 \
				next(__VA_ARGS__);                \
		}                                                 \
	}
typedef void delete_fn(void *);
typedef void delete_2_fn(void *, uintptr_t);
typedef void delete_3_fn(void *, uintptr_t, uintptr_t);

DELETE(_ZdlPv, (void *p), free(p), delete_fn, p)
DELETE(_ZdaPv, (void *p), free(p), delete_fn, p)
DELETE(_ZdlPvm, (void *p, size_t n), mw_free_sized(p, n), delete_2_fn, p, n)
DELETE(_ZdaPvm, (void *p, size_t n), mw_free_sized(p, n), delete_2_fn, p, n)
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, uintptr_t nothrow), free(p), delete_2_fn, p, nothrow)
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, uintptr_t nothrow), free(p), delete_2_fn, p, nothrow)
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), free(p), delete_2_fn, p, align)
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), free(p), delete_2_fn, p, align)
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t align), mw_free_sized(p, n), delete_3_fn, p, n,
       align)
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t align), mw_free_sized(p, n), delete_3_fn, p, n,
       align)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, uintptr_t nothrow), free(p),
       delete_3_fn, p, align, nothrow)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, uintptr_t nothrow), free(p),
       delete_3_fn, p, align, nothrow)
