/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "real.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "shared/sys/libc.h"
#include "shared/sys/sys.h"
#include "shared/sys/thread.h"
#include "tracker/base/arena.h"
#include "musl.h"
#include "own_blocks.h"
#include "preloads.h"
#include "untracked.h"
#include "bind.h"

struct mw_next mw_next;

/* --- the first calls ------------------------------------------------------------ */

static int state; /* 0 unknown, 1 being found, 2 found; release */

static bool found(void)
{
	mw_real_init();
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == 2;
}

/*
 * While the rest is being found: the next functions of these names. The app's own free may be a preload's in front,
 * which passes the blocks that dlsym makes to the allocator beneath: so they come from there, once it is known.
 */
static struct {
	void *(*malloc)(size_t);
	void (*free)(void *);
} early;

/* With room for a tail, as each block of the tracker's has. */
static void *early_alloc(size_t align, size_t n)
{
	void *(*aligned)(size_t, size_t) = NULL;

	mw_reached = true;
	if (align > 16 && early.malloc)
		aligned = (void *(*)(size_t, size_t))mw_real_next("memalign");
	if (!early.malloc || n > PTRDIFF_MAX || (align > 16 && !aligned))
		return mw_own_alloc(align, n);
	n += 2 * sizeof(size_t);
	return aligned ? aligned(align, n) : early.malloc(n);
}

static void *first_malloc(size_t n)
{
	return found() ? mw_real.malloc(n) : early_alloc(16, n);
}

static void first_free(void *p)
{
	mw_reached = true;
	if (mw_own_is(p))
		mw_own_free(p);
	else if (found())
		mw_real.free(p);
	else if (early.free)
		early.free(p);
}

static void *first_calloc(size_t n, size_t m)
{
	size_t bytes;
	void *p;

	if (found())
		return mw_real.calloc(n, m);
	if (__builtin_mul_overflow(n, m, &bytes))
		bytes = SIZE_MAX;
	p = early_alloc(16, bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

static void *first_realloc(void *p, size_t n)
{
	size_t room = 0;
	void *q;

	if (found())
		return mw_real.realloc(p, n);
	if (p && !mw_own_is(p)) {
		void *(*next)(void *, size_t) = (void *(*)(void *, size_t))mw_real_next("realloc");

		if (next && n <= PTRDIFF_MAX)
			return next(p, n + 2 * sizeof(size_t));
		errno = ENOMEM;
		return NULL;
	}
	q = early_alloc(16, n);
	if (p)
		room = mw_own_size(p);
	if (q && room) {
		memcpy(q, p, room < n ? room : n);
		mw_own_free(p);
	}
	return q;
}

static void *first_reallocarray(void *p, size_t n, size_t m)
{
	size_t bytes;

	if (found() && mw_real.reallocarray)
		return mw_real.reallocarray(p, n, m);
	if (__builtin_mul_overflow(n, m, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return first_realloc(p, bytes);
}

static void *first_memalign(size_t align, size_t n)
{
	return found() ? mw_real.memalign(align, n) : early_alloc(align, n);
}

static int first_posix_memalign(void **out, size_t align, size_t n)
{
	if (found())
		return mw_real.posix_memalign(out, align, n);
	*out = early_alloc(align, n);
	return *out ? 0 : ENOMEM;
}

static void *first_aligned_alloc(size_t align, size_t n)
{
	return found() ? mw_real.aligned_alloc(align, n) : early_alloc(align, n);
}

static void *first_valloc(size_t n)
{
	return found() ? mw_real.valloc(n) : early_alloc(mw_page_size(), n);
}

static void *first_pvalloc(size_t n)
{
	return found() ? mw_real.pvalloc(n) : early_alloc(mw_page_size(), n);
}

static size_t first_malloc_usable_size(void *p)
{
	return found() ? mw_real.malloc_usable_size(p) : mw_own_size(p) - MW_OWN_TAIL;
}

struct mw_real mw_real = {
#define MW_HOOK_REAL(name, result, params) .name = first_##name,
#include "api/hooks.def"
};

bool mw_real_glibc;
const char *mw_real_aside;
size_t mw_real_mapped = 2;

static bool chunk_agrees(const void *p)
{
	return p && mw_chunk_usable(p) == mw_real.malloc_usable_size((void *)(uintptr_t)p);
}

/*
 * glibc learns from the free of a block with a mapping of its own, unless that is larger than
 * 32 MiB. Of these 33 only the first page is touched. If the process may not have as much address
 * space, a small one stays for good.
 */
static bool mapped_agrees(void)
{
	void *p = mw_real.malloc((size_t)33 << 20);
	bool same;

	if (!p)
		return chunk_agrees(mw_real.malloc(140000));
	same = chunk_agrees(p);
	mw_real.free(p);
	return same;
}

static bool chunks_agree(void)
{
	static const size_t sizes[] = { 1, 24, 25, 100, 1000, 5000, 100000 };
	bool same = true;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		void *p = mw_real.malloc(sizes[i]);

		same = same && chunk_agrees(p);
		mw_real.free(p);
	}
	return same && mapped_agrees();
}

static bool is_glibc(void)
{
	struct mw_object o;

	if (!mw_glibc_version() || !mw_object_of((uintptr_t)mw_real.malloc, &o) || !mw_is_libc(o.map))
		return false;
	if (chunks_agree())
		return true;
	mw_real_mapped = 0; /* glibc 2.43 */
	return chunks_agree();
}

void mw_real_init(void)
{
	struct mw_real r;
	const char *behind;
	int unknown = 0;

	if (!__atomic_compare_exchange_n(&state, &unknown, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	mw_bind_self();
	early.malloc = (void *(*)(size_t))mw_real_next("malloc");
	early.free = (void (*)(void *))mw_real_next("free");
	/* a wrapper looks for its own next ones now: not while dlsym frees the message of a symbol that isn't there */
	if (early.malloc && early.free)
		early.free(early.malloc(1));
	mw_real_aside = mw_untracked_reason();
	behind = mw_real_aside ? NULL : mw_behind_allocator();
#define MW_HOOK_REAL(name, result, params) \
	r.name = (result(*) params)(behind ? mw_real_beside(#name) : mw_real_next(#name));
#include "api/hooks.def"
	if (!mw_real_aside)
		mw_real_aside = behind ? behind : mw_of_one_allocator(&r);
	mw_real_musl(&r);
	mw_real = r;
	if (!mw_real_aside) { /* else its functions and the word before a block are off limits */
		mw_first_find(&r);
		mw_real_glibc = is_glibc();
		if (!mw_real_glibc)
			mw_classes_init();
		if (!mw_real_glibc)
			mw_real_musl_try();
	}
#define MW_HOOK_NEXT(name, result, params) mw_next.name = (result(*) params)mw_real_next(#name);
#include "api/hooks.def"
	*(void **)&mw_thread_create = mw_real_next("pthread_create");
	__atomic_store_n(&state, 2, __ATOMIC_RELEASE);
}
